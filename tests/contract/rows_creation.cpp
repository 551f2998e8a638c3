// SPDX-License-Identifier: Apache-2.0
//
// Making streams: errors, contexts and priorities.

#include <algorithm>
#include <limits>
#include <string_view>

#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

// Another context is current when streams are made in the device's. It is so afterwards, whether
// the creation succeeded or failed.
CONTRACT_ROW(S12, TheCurrentContextIsAsBefore) {
  ASSERT_TRUE(backend().contexts) << "The backend has no current context.";
  const Contexts& contexts = *backend().contexts;
  contexts.make_other_current(device());
  const std::uintptr_t other = contexts.current();
  ASSERT_NE(other, contexts.of_device(device()));
  const Stream s = stream();
  EXPECT_EQ(contexts.current(), other);
  EXPECT_EQ(contexts.of_stream(s), contexts.of_device(device()));
  control().refuse(Call::create_stream, Error(ErrorKind::out_of_memory, "refused by the test"));
  EXPECT_EQ(refusal(Stream::create(device())), "out_of_memory");
  EXPECT_EQ(contexts.current(), other);
}

// What a backend says when it cannot make a stream arrives as it was said: the kind, the call and
// its code in words, and the place of the user's call.
CONTRACT_ROW(S13, CreationErrorsAreTyped) {
  const ErrorKind kinds[] = {ErrorKind::invalid_argument, ErrorKind::out_of_memory,
                             ErrorKind::unavailable, ErrorKind::device_lost, ErrorKind::internal};
  for (const ErrorKind kind : kinds) {
    SCOPED_TRACE(name(kind));
    control().refuse(Call::create_stream, Error(kind, "makeQueue gives code 201."));
    const std::source_location before = std::source_location::current();
    const Result<Stream> refused = Stream::create(device());
    EXPECT_EQ(refusal(refused), name(kind));
    EXPECT_NE(message(refused).find("makeQueue gives code 201."), std::string::npos);
    if (refused) continue;
    EXPECT_EQ(refused.error().site().line(), before.line() + 1);
    EXPECT_EQ(std::string_view(refused.error().site().file_name()), before.file_name());
  }
  EXPECT_EQ(control().streams_created(), 0U);
}

// The numbers of a range go down as importance goes up, and 0 is in it and the default. That the
// lower number runs first is S17.
CONTRACT_ROW(S14, LowerNumbersAreHigherPriorities) {
  const PriorityRange range = device().priority_range();
  EXPECT_LE(range.greatest, range.least);
  EXPECT_TRUE(range.contains(0));
  EXPECT_EQ(stream().priority(), 0);
  EXPECT_EQ(stream(range.greatest).priority(), range.greatest);
  EXPECT_EQ(stream(range.least).priority(), range.least);
}

// {0, 0} says that a device has no priorities: then 0 is accepted and nothing else.
CONTRACT_ROW(S15, ARangeOfZeroAcceptsZeroOnly) {
  const PriorityRange own = device().priority_range();
  for (int priority = own.greatest; priority <= own.least; ++priority)
    EXPECT_EQ(refusal(Stream::with_priority(device(), priority)), "none") << priority;
  control().pretend({0, 0});
  EXPECT_EQ(device().priority_range(), (PriorityRange{0, 0}));
  EXPECT_EQ(refusal(Stream::with_priority(device(), 0)), "none");
  EXPECT_EQ(refusal(Stream::with_priority(device(), 1)), "invalid_argument");
  EXPECT_EQ(refusal(Stream::with_priority(device(), -1)), "invalid_argument");
}

// A priority out of range is refused before the backend, which might clamp it, is asked.
CONTRACT_ROW(S16, APriorityOutOfRangeIsRefused) {
  const PriorityRange range = device().priority_range();
  const int outside[] = {range.least + 1, range.greatest - 1, std::numeric_limits<int>::max(),
                         std::numeric_limits<int>::min()};
  for (const int priority : outside)
    EXPECT_EQ(refusal(Stream::with_priority(device(), priority)), "invalid_argument") << priority;
  EXPECT_EQ(control().calls(Call::create_stream), 0U);
  EXPECT_EQ(stream(range.least).priority(), range.least);
  EXPECT_EQ(stream(range.greatest).priority(), range.greatest);
}

// Whatever runs host functions is kept busy while two streams become ready, the unimportant one
// first. One thread is released, and takes the important one. A device without threads looks at
// both when they are ready.
CONTRACT_ROW(S17, TheHigherPriorityIsPickedFirst) {
  const PriorityRange range = device().priority_range();
  ASSERT_LT(range.greatest, range.least) << "The device has no priorities.";
  const bool threads = backend().own_threads;
  ASSERT_TRUE(!threads || under_test().runners != 0)
      << "Nothing says how many host functions run at a time.";
  const Stream low = stream(range.least);
  const Stream high = stream(range.greatest);
  const Log log;
  const Gate gate(device());
  std::vector<Stream> streams;
  std::vector<std::unique_ptr<Blocker>> blockers;
  for (unsigned i = 0; threads && i != under_test().runners; ++i)
    blockers.push_back(std::make_unique<Blocker>(streams.emplace_back(stream())));
  ASSERT_TRUE(comes_true([&blockers] {
    return std::all_of(blockers.begin(), blockers.end(),
                       [](const auto& blocker) { return blocker->started(); });
  }));
  gate.hold(low);
  gate.hold(high);
  static_cast<void>(log.enqueue(low, 1));
  static_cast<void>(log.enqueue(high, 2));
  gate.open();
  if (threads) {
    EXPECT_TRUE(log.empty());
    blockers.front()->release();
  }
  ASSERT_TRUE(comes_true([&log] { return log.size() == 2; }));
  EXPECT_EQ(log.entries(), (std::vector<int>{2, 1}));
}

}  // namespace
}  // namespace thalweg::contract
