// SPDX-License-Identifier: Apache-2.0
//
// The suite's own rules: how it judges a row by the list of exceptions, what it says of a list that
// is wrong, and what the counting driver counts and refuses.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "contract/support/foreign_backend.hpp"
#include "contract/support/suite.hpp"
#include "contract/support/work.hpp"

namespace thalweg::contract {
namespace {

class Passing final : public Row {
 public:
  using Row::Row;
  void run() override { EXPECT_TRUE(device().valid()); }
};
class Failing final : public Row {
 public:
  using Row::Row;
  void run() override { ADD_FAILURE() << "as it must"; }
};
class Unmeeting final : public Row {
 public:
  using Row::Row;
  void run() override { need(Result<void>(Error(ErrorKind::internal, "not met"))); }
};
class Leaking final : public Row {
 public:
  using Row::Row;
  static inline Device kept;
  void run() override { kept = take_device(); }
};

template <class R>
RowInfo row_of() {
  return {"R1", "Claim", __FILE__, __LINE__, &make_row<R>};
}

BackendUnderTest backend_with(std::vector<Exception> exceptions) {
  BackendUnderTest backend;
  backend.name = "made";
  backend.devices = {{"Made", "made"}};
  backend.open = [](const std::string&) -> Result<runtime::OpenedDriver> {
    ForeignBackend made(std::make_shared<test::TinyControl>());
    return runtime::OpenedDriver{
        std::make_unique<backend::MultiStream<ForeignBackend>>(std::move(made)),
        {.backend = "made"}};
  };
  backend.exceptions = std::move(exceptions);
  return backend;
}

// What a row's test says: its parts, each as "skipped: ...", "failed: ..." or "passed: ...".
std::vector<std::string> verdict(const RowInfo& row, const BackendUnderTest& backend,
                                 std::chrono::nanoseconds limit = kLimit) {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    run_row(row, backend, backend.devices.front(), limit);
  }
  std::vector<std::string> parts;
  for (int i = 0; i != results.size(); ++i) {
    const ::testing::TestPartResult& result = results.GetTestPartResult(i);
    const std::string kind = result.skipped() ? "skipped" : result.failed() ? "failed" : "passed";
    parts.push_back(kind + ": " + result.message());
  }
  return parts;
}

::testing::AssertionResult says(const std::vector<std::string>& verdict, const std::string& kind,
                                const std::string& text) {
  for (const std::string& part : verdict)
    if (part.starts_with(kind + ": ") && part.find(text) != std::string::npos)
      return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "No part is " << kind << " with \"" << text << "\".";
}

TEST(Suite, ARowThatIsNotListedPassesOrFailsAsItDoes) {
  const BackendUnderTest backend = backend_with({});
  EXPECT_TRUE(verdict(row_of<Passing>(), backend).empty());
  EXPECT_TRUE(says(verdict(row_of<Failing>(), backend), "failed", "as it must"));
  EXPECT_TRUE(says(verdict(row_of<Unmeeting>(), backend), "failed", "not met"));
}

TEST(Suite, AListedRowThatFailsIsSkippedWithTheReason) {
  const BackendUnderTest backend = backend_with({{"R1", "Made cannot."}});
  for (const RowInfo& row : {row_of<Failing>(), row_of<Unmeeting>()}) {
    const std::vector<std::string> parts = verdict(row, backend);
    EXPECT_EQ(parts.size(), 1U);
    EXPECT_TRUE(says(parts, "skipped", "Listed for made: Made cannot."));
  }
}

TEST(Suite, AListedRowThatPassesFails) {
  EXPECT_TRUE(says(verdict(row_of<Passing>(), backend_with({{"R1", "Made cannot."}})), "failed",
                   "but passes"));
  EXPECT_TRUE(verdict(row_of<Passing>(), backend_with({{"R1", "Not here.", "Elsewhere"}})).empty());
  EXPECT_TRUE(says(verdict(row_of<Passing>(), backend_with({{"R1", "Here.", "Made"}})), "failed",
                   "but passes"));
}

TEST(Suite, AnAbsentDeviceIsSkippedInWords) {
  BackendUnderTest backend = backend_with({});
  backend.open = [](const std::string&) -> Result<runtime::OpenedDriver> {
    return Error(ErrorKind::unavailable, "There is no driver.");
  };
  EXPECT_TRUE(says(verdict(row_of<Passing>(), backend), "skipped", "made: There is no driver."));
  backend.exceptions = {{"R1", "Made cannot."}};
  EXPECT_TRUE(says(verdict(row_of<Passing>(), backend), "skipped", "made: There is no driver."));
  backend.open = [](const std::string&) -> Result<runtime::OpenedDriver> {
    return Error(ErrorKind::invalid_argument, "No such option.");
  };
  EXPECT_TRUE(says(verdict(row_of<Passing>(), backend), "failed", "No such option."));
}

TEST(Suite, ARowThatLeavesItsDeviceBehindFails) {
  const std::vector<std::string> parts =
      verdict(row_of<Leaking>(), backend_with({}), std::chrono::nanoseconds(0));
  EXPECT_TRUE(says(parts, "failed", "and its device is not"));
  Leaking::kept = Device();
}

TEST(Suite, FaultsOfTheListsAreNamed) {
  const std::vector<RowInfo> rows{row_of<Passing>()};
  EXPECT_EQ(faults(rows, {backend_with({{"R1", "x"}})}), std::vector<std::string>());
  const auto fault = [&rows](std::vector<Exception> exceptions) {
    const std::vector<std::string> found = faults(rows, {backend_with(std::move(exceptions))});
    return found.size() == 1 ? found.front() : std::to_string(found.size()) + " faults";
  };
  EXPECT_EQ(fault({{"R2", "x"}}), "made lists row R2, which is not there.");
  EXPECT_EQ(fault({{"R1", ""}}), "made lists row R1 without a reason.");
  EXPECT_EQ(fault({{"R1", "x", "Other"}}),
            "made lists row R1 for device Other, which is not there.");
  EXPECT_EQ(faults({rows[0], rows[0]}, {backend_with({})}),
            std::vector<std::string>{"There are two rows R1."});
  EXPECT_EQ(faults(rows, {backend_with({}), backend_with({})}),
            std::vector<std::string>{"Two devices have the label Made."});
  BackendUnderTest none = backend_with({});
  none.devices = {{"a b", "made"}};
  EXPECT_EQ(faults(rows, {none}),
            std::vector<std::string>{"Label `a b` is not of letters and digits."});
  none.devices.clear();
  EXPECT_EQ(faults(rows, {none}), std::vector<std::string>{"Backend made names no device."});
  EXPECT_EQ(faults({}, {}),
            (std::vector<std::string>{"There are no rows.", "There are no backends."}));
}

TEST(Suite, TheCountingDriverCountsAndRefusesTheNthCall) {
  const BackendUnderTest backend = backend_with({});
  const Opened opened = must(Bench(backend, backend.devices.front()).open());
  Control& control = *opened.control;
  const Stream a = must(Stream::create(opened.device));
  const Stream b = must(Stream::create(opened.device));
  EXPECT_EQ(control.streams_created(), 2U);
  const auto data = must(Array<int>::create(a, 4));
  EXPECT_EQ(control.calls(Call::grow), 1U);
  control.refuse(Call::submit, Error(ErrorKind::queue_full, "full"), 2, 2);
  EXPECT_EQ(refusal(a.fill(data, 1)), "none");
  EXPECT_EQ(refusal(a.fill(data, 1)), "queue_full");
  EXPECT_EQ(message(a.fill(data, 1)), "full");
  EXPECT_EQ(refusal(a.fill(data, 1)), "none");
  EXPECT_EQ(control.calls(Call::submit), 4U);
  EXPECT_EQ(control.submits(neutral::TaskKind::fill), 2U);
  const Gate gate(opened.device);
  gate.hold(a);
  must(a.fill(data, 2));
  control.refuse(Call::wait_for, Error(ErrorKind::queue_full, "full"));
  EXPECT_EQ(refusal(b.fill(data, 3)), "queue_full");
  EXPECT_EQ(refusal(b.fill(data, 3)), "none");
  EXPECT_EQ(control.calls(Call::wait_for), 2U);
  control.refuse(Call::host_wait, Error(ErrorKind::device_lost, "lost"));
  EXPECT_EQ(refusal(b.synchronize(kLimit)), "device_lost");
  EXPECT_EQ(control.calls(Call::host_wait), 1U);
  gate.open();
  EXPECT_EQ(refusal(b.synchronize(kLimit)), "none");
  EXPECT_EQ(control.fences(), opened.device.statistics().fences);
}

}  // namespace
}  // namespace thalweg::contract
