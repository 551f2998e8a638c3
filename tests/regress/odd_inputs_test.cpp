// SPDX-License-Identifier: Apache-2.0
//
// Inputs nobody thinks of, which crashed, waited for ever or were taken for something else.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <thalweg/thalweg.hpp>
#include <vector>

namespace thalweg::test {
namespace {

constexpr std::chrono::seconds kLimit{30};

class OddInputs : public ::testing::Test {
 protected:
  Device device_ = must(Device::open("cpu"));
  Stream stream_ = must(Stream::create(device_));
};

// A deadline that is not a number is over, and does not turn into one that never comes.
TEST_F(OddInputs, ADeadlineThatIsNotANumberIsOver) {
  const Timeline gate = must(Timeline::create(device_));
  const std::chrono::duration<double> never(std::numeric_limits<double>::quiet_NaN());
  const Result<void> waited = gate.wait(1, never);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind(), ErrorKind::timeout);
}

// A kernel made of a null function pointer is refused where it is launched.
TEST_F(OddInputs, AKernelWithoutAFunctionIsRefused) {
  void (*none)(Cell) = nullptr;
  const Result<Task> launched = stream_.launch(kernel("none", none), 1);
  ASSERT_FALSE(launched);
  EXPECT_EQ(launched.error().kind(), ErrorKind::invalid_argument);
  void (*nothing)() = nullptr;
  const Result<void> hosted = stream_.host("nothing", {}, nothing).get(kLimit);
  ASSERT_FALSE(hosted);
  EXPECT_EQ(hosted.error().kind(), ErrorKind::invalid_argument);
}

// A task that fails names the line that submitted it, which may be one of many.
TEST_F(OddInputs, AFailureNamesTheLineOfItsSubmission) {
  const Result<void> hosted = stream_.host("f", {}, [] { throw 1; }).get(kLimit);
  ASSERT_FALSE(hosted);
  EXPECT_EQ(hosted.error().site().line(), static_cast<unsigned>(__LINE__ - 2));
  std::uint_least32_t line = 0;
  set_error_sink([&line](const Error& error) { line = error.site().line(); });
  must(stream_.launch(kernel("k", [](Cell) { throw 1; }), 1));
  must(stream_.synchronize(kLimit));
  set_error_sink({});
  EXPECT_EQ(line, static_cast<unsigned>(__LINE__ - 3));
}

// What was moved from holds nothing: no elements, no refusal.
TEST_F(OddInputs, WhatWasMovedFromIsEmpty) {
  auto array = must(Array<int>::create(stream_, 8));
  auto view = array.view();
  const auto kept = std::move(array);
  const auto kept_view = std::move(view);
  EXPECT_EQ(array.count(), 0U);  // NOLINT: what is left is what is tested.
  EXPECT_EQ(view.count(), 0U);   // NOLINT
  Future<void> refused = stream_.host("f", {}, UniqueFunction());
  Future<void> taken = std::move(refused);
  EXPECT_FALSE(refused.valid());  // NOLINT
  EXPECT_TRUE(taken.valid());
  EXPECT_EQ(taken.get(kLimit).error().kind(), ErrorKind::invalid_argument);
}

// An exception whose text is null still becomes an error with the type's name.
TEST_F(OddInputs, AnExceptionWithoutTextIsReported) {
  struct Silent : std::exception {
    const char* what() const noexcept override { return nullptr; }
  };
  const Result<void> result = stream_.host("f", {}, [] { throw Silent(); }).get(kLimit);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind(), ErrorKind::task_failed);
  EXPECT_NE(result.error().message().find("Silent"), std::string_view::npos);
}

// Elements that want more than the memory's usual alignment get it; a view that does not have it is
// refused although its offset has.
TEST_F(OddInputs, AlignmentIsThatOfTheAddress) {
  struct alignas(1024) Wide {
    int value;
  };
  for (int i = 0; i != 20; ++i) {
    const auto wide = must(Array<Wide>::create(stream_, 3));
    EXPECT_EQ(wide.buffer().core()->address % 1024, 0U);
    must(stream_.launch(kernel("set", [](Cell at, std::span<Wide> v) { v[at.x].value = 7; }), 3,
                        wide));
    EXPECT_EQ(must(stream_.read(wide).get(kLimit))[2].value, 7);
    const auto bytes = must(Array<char>::create(stream_, 100 + 4096 * (i % 2)));
    const View<Wide> view(bytes.buffer(), 0, 0);
    const Result<Task> filled = stream_.launch(kernel("k", [](Cell, std::span<Wide>) {}), 1, view);
    EXPECT_EQ(filled.has_value(), bytes.buffer().core()->address % 1024 == 0);
  }
}

// A program that never holds more than one stream is never refused one, however fast it makes and
// drops them.
TEST_F(OddInputs, StreamsComeAndGoWithoutALimit) {
  for (int i = 0; i != 20'000; ++i) ASSERT_TRUE(Stream::create(device_)) << i;
  for (int round = 0; round != 3; ++round) {
    std::vector<Stream> streams;
    while (Result<Stream> made = Stream::create(device_)) streams.push_back(*made);
    EXPECT_GT(streams.size(), 4000U);
  }
}

// Memory of the host that is not there is an error and no exception.
TEST_F(OddInputs, AReadThatFindsNoMemoryIsRefused) {
  const Buffer nothing = must(Buffer::create(stream_, 0));
  // A view of elements that are no bytes of any memory is refused before memory is taken for them.
  const View<char> vast(nothing, 0, std::uint64_t{1} << 62);
  const auto read = stream_.read(vast).get(kLimit);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::invalid_argument);
}

}  // namespace
}  // namespace thalweg::test
