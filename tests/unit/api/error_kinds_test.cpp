// SPDX-License-Identifier: Apache-2.0
//
// Every kind of error can be met, and its message says what failed, the value and the limit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "contract/support/sink.hpp"
#include "support/gate.hpp"
#include "support/refusal.hpp"
#include "thalweg/thalweg.hpp"

namespace thalweg::test {
namespace {

using ::testing::HasSubstr;
using Numbers = Array<std::uint32_t>;

// How a kind is met, and what its message has to say.
struct Case {
  std::function<Error()> meet;
  std::vector<std::string> words;
};

template <class T>
Error error_of(Result<T> result) {
  EXPECT_FALSE(result) << "It is no error.";
  return result ? Error(ErrorKind::internal, "None.") : std::move(result).error();
}

struct Hands {
  Device device = must(Device::open("cpu?workers=2&memory=1MiB"));
  Stream stream = must(Stream::create(device, {.name = "held"}));
  Numbers numbers = must(stream.upload(std::vector<std::uint32_t>{1, 2, 3, 4}));

  Future<void> fails() const {
    return stream.host("fails", {writes(numbers)}, [] { throw std::runtime_error("broken"); });
  }
};

Error wait_in_a_host_function() {
  const Hands h;
  std::optional<Error> met;
  must(h.stream.host("waits", {}, [&] { met = error_of(h.stream.synchronize()); }).get());
  return *met;
}

Error past_the_room() {
  const Device device = must(Device::open("cpu"));
  StreamOptions options;
  options.room_bytes = 128;
  const Stream stream = must(Stream::create(device, options));
  const Timeline gate = must(Timeline::create(device));
  must(stream.wait(gate, 1));
  Error met = error_of(stream.wait(gate, 2));
  must(gate.signal(1));
  return met;
}

Error unwritten_numbers() {
  const Hands h;
  Future<void> failed = h.fails();
  Error met = error_of(h.stream.read(h.numbers).get());
  EXPECT_EQ(refusal(failed.get()), "task_failed");
  return met;
}

Error stopped() {
  const Hands h;
  std::stop_source stop;
  stop.request_stop();
  return error_of(h.stream.with_stop_token(stop.get_token()).host("never runs", {}, [] {}).get());
}

// Behind a gate: the wait comes to its deadline, and the events are not ready.
struct Held : Hands {
  Gate gate{device};
  Held() { gate.hold(stream); }
  ~Held() { gate.open(); }
};

Error too_early() {
  const Held h;
  const TimedEvent event = must(TimedEvent::create(h.device));
  must(h.stream.record(event));
  return error_of(elapsed(event, event));
}

Error of_two_devices() {
  const Hands h;
  const Device other = must(Device::open("cpu"));
  const Stream stream = must(Stream::create(other));
  return error_of(stream.record(must(Event::create(h.device))));
}

Error of_two_backends() {
  const Hands h;
  const Device other = must(Device::open("sim"));
  const Stream stream = must(Stream::create(other));
  return error_of(stream.wait(h.stream));
}

Error lost() {
  const contract::Sink sink;
  const Device device = must(Device::open("sim?faults=lost:1"));
  const Stream stream = must(Stream::create(device));
  must(stream.launch(kernel("never runs", [](Cell) {}), 1));
  return error_of(device.synchronize());
}

Error not_compiled() {
  const Device device = must(Device::open("sim?faults=compile:1"));
  const Stream stream = must(Stream::create(device));
  return error_of(stream.launch(kernel("bad", [](Cell) {}), 1));
}

const std::map<ErrorKind, Case>& cases() {
  using std::chrono::milliseconds;
  static const std::map<ErrorKind, Case> all{
      {ErrorKind::invalid_argument,
       {[] { return error_of(Device::open("cpu?workers=257")); }, {"workers", "257", "256"}}},
      {ErrorKind::invalid_size,
       {[] { return error_of(Numbers::create(Hands().stream, ~std::uint64_t{0} / 4)); },
        {"bytes"}}},
      {ErrorKind::invalid_handle, {[] { return error_of(Device().synchronize()); }, {"device"}}},
      {ErrorKind::backend_mismatch, {&of_two_backends, {"`sim`", "`cpu?workers=2&memory=1MiB`"}}},
      {ErrorKind::context_mismatch, {&of_two_devices, {"`cpu`", "`cpu?workers=2&memory=1MiB`"}}},
      {ErrorKind::not_found, {[] { return error_of(Device::open("gpu")); }, {"`gpu`", "cpu"}}},
      {ErrorKind::out_of_memory,
       {[] { return error_of(Numbers::create(Hands().stream, 1 << 20)); }, {"4194304", "1048576"}}},
      {ErrorKind::queue_full, {&past_the_room, {"128"}}},
      {ErrorKind::unsupported,
       {[] {
          const Hands h;
          const auto odd = must(Array<std::array<char, 3>>::create(h.stream, 1));
          return error_of(h.stream.fill(odd, std::array<char, 3>{}));
        },
        {"3 bytes", "16"}}},
      {ErrorKind::compile_failed, {&not_compiled, {"compile:1"}}},
      {ErrorKind::task_failed,
       {[] { return error_of(Hands().fails().get()); }, {"`fails`", "std::runtime_error: broken"}}},
      {ErrorKind::unwritten, {&unwritten_numbers, {"16", "`fails`", "broken"}}},
      {ErrorKind::cancelled, {&stopped, {"`never runs`"}}},
      {ErrorKind::event_not_recorded,
       {[] { return error_of(must(Event::create(Hands().device)).on_complete([] {})); },
        {"event"}}},
      {ErrorKind::not_ready, {&too_early, {"event"}}},
      {ErrorKind::timeout,
       {[] {
          const Held h;
          return error_of(h.device.synchronize(milliseconds(2)));
        },
        {"1 task of stream `held`"}}},
      {ErrorKind::wait_forbidden, {&wait_in_a_host_function, {"synchronize", "NoWaitScope"}}},
      {ErrorKind::device_lost, {&lost, {"`sim?faults=lost:1`", "lost:1"}}},
  };
  return all;
}

// Those that are met elsewhere, or that nothing gives yet.
const std::map<ErrorKind, const char*>& others() {
  static const std::map<ErrorKind, const char*> all{
      {ErrorKind::unavailable, "After a fork: fork_test.cpp."},
      {ErrorKind::timing_disabled, "Needs a device without a timer: rows_timed_events.cpp."},
      {ErrorKind::internal, "A fault of the library or a backend."},
      {ErrorKind::pools_in_use, "Pools have one layout."},
      {ErrorKind::graph_state, "There is no capture."},
      {ErrorKind::not_capturable, "There is no capture."},
      {ErrorKind::capture_unjoined, "There is no capture."},
  };
  return all;
}

TEST(ErrorKinds, EachCanBeMetAndSaysWhatAndWhy) {
  constexpr int count = static_cast<int>(ErrorKind::internal) + 1;
  for (int i = 0; i != count; ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    const auto found = cases().find(kind);
    ASSERT_TRUE((found == cases().end()) == (others().count(kind) == 1)) << name(kind);
    if (found == cases().end()) continue;
    const Error met = found->second.meet();
    EXPECT_EQ(name(met.kind()), name(kind)) << met.message();
    EXPECT_THAT(std::string(met.site().file_name()), HasSubstr("error_kinds_test.cpp"))
        << name(kind);
    std::string text;
    for (const Error* error = &met; error != nullptr; error = error->cause())
      text += std::string(error->message()) + "\n";
    for (const std::string& words : found->second.words)
      EXPECT_THAT(text, HasSubstr(words)) << name(kind);
  }
}

}  // namespace
}  // namespace thalweg::test
