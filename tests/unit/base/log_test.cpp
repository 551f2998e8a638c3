// SPDX-License-Identifier: Apache-2.0
//
// The log hook and the error sink: replaced at any time, called outside any lock, and no error is
// lost.

#include "thalweg/base/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace thalweg::test {
namespace {

const Error kError(ErrorKind::task_failed, "A task failed.");

// Leaves neither hook nor sink behind.
class Log : public ::testing::Test {
 protected:
  Log() { clear(); }
  ~Log() override { clear(); }

 private:
  static void clear() {
    set_log_hook({});
    set_error_sink({});
  }
};

using LogDeathTest = Log;

std::string printed(const Error& error) {
  ::testing::internal::CaptureStderr();
  detail::to_error_sink(error);
  return ::testing::internal::GetCapturedStderr();
}

// Nothing is logged without a hook; with one, level and text arrive; removed, nothing again.
TEST_F(Log, CallsTheHookThatIsSet) {
  EXPECT_FALSE(detail::logging());
  detail::log(LogLevel::error, "Nobody hears this.");
  std::vector<std::pair<LogLevel, std::string>> heard;
  set_log_hook(
      [&heard](LogLevel level, std::string_view text) { heard.emplace_back(level, text); });
  EXPECT_TRUE(detail::logging());
  detail::log(LogLevel::info, "one");
  detail::log(LogLevel::debug, "");
  set_log_hook({});
  EXPECT_FALSE(detail::logging());
  detail::log(LogLevel::info, "two");
  const std::vector<std::pair<LogLevel, std::string>> wanted{{LogLevel::info, "one"},
                                                             {LogLevel::debug, ""}};
  EXPECT_EQ(heard, wanted);
}

// A hook that sets another hook while it runs, and uses its own captures after that.
TEST_F(Log, AHookMayReplaceItself) {
  std::string heard;
  set_log_hook([&heard, own = std::string("first")](LogLevel, std::string_view) {
    set_log_hook([&heard](LogLevel, std::string_view) { heard += " second"; });
    heard += own;
  });
  detail::log(LogLevel::info, "x");
  detail::log(LogLevel::info, "x");
  EXPECT_EQ(heard, "first second");
}

// The same for the sink, which here also reports an error of its own to the next one.
TEST_F(Log, ASinkMayReplaceItselfAndReport) {
  std::vector<std::string> heard;
  set_error_sink([&heard](const Error& error) {
    set_error_sink([&heard](const Error& next) { heard.emplace_back(next.message()); });
    detail::to_error_sink(Error(ErrorKind::internal, "The sink's own."));
    heard.emplace_back(error.message());
  });
  EXPECT_EQ(printed(kError), "");
  EXPECT_EQ(heard, (std::vector<std::string>{"The sink's own.", "A task failed."}));
}

// No sink: the error goes to stderr, whole.
TEST_F(Log, WithoutASinkErrorsArePrinted) {
  EXPECT_EQ(printed(kError), "thalweg: " + kError.to_string() + "\n");
}

// A sink that throws does not end the process, and the error it was given is printed instead.
TEST_F(Log, AnErrorIsPrintedWhenTheSinkThrows) {
  set_error_sink([](const Error&) { throw std::runtime_error("sink"); });
  const std::string text = printed(kError);
  EXPECT_NE(text.find("the error sink threw"), std::string::npos);
  EXPECT_NE(text.find(kError.to_string()), std::string::npos);
}

// A hook whose captures log when they are destroyed, replaced from outside. In a process of its
// own, which an alarm ends if the library holds a lock while it destroys the hook.
TEST_F(LogDeathTest, AReplacedHookMayLogAsItGoes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Captured {
    ~Captured() { detail::log(LogLevel::info, "gone"); }
  };
  EXPECT_EXIT(
      {
        alarm(10);
        set_log_hook([held = std::make_shared<Captured>()](LogLevel, std::string_view) {});
        set_log_hook([](LogLevel, std::string_view) {});
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

// One thread replaces hook and sink while others report: each report reaches one of them.
TEST_F(Log, IsReplacedWhileOthersReport) {
  std::atomic<int> heard{0};
  const auto set = [&heard] {
    set_log_hook([&heard](LogLevel, std::string_view) { ++heard; });
    set_error_sink([&heard](const Error&) { ++heard; });
  };
  set();
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([] {
      for (int i = 0; i != 300; ++i) {
        detail::log(LogLevel::info, "x");
        detail::to_error_sink(kError);
      }
    });
  for (int i = 0; i != 300; ++i) set();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard, 3 * 300 * 2);
}

}  // namespace
}  // namespace thalweg::test
