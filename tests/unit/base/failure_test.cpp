// SPDX-License-Identifier: Apache-2.0
//
// What an error says of bad bytes, for people and for programs.

#include "thalweg/base/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace thalweg::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FailureReport report(std::uint64_t failure, std::string root) {
  FailureReport made{FailureId{failure},
                     Error(ErrorKind::task_failed, std::move(root)),
                     {AllocationId{3}, 16, 64},
                     2,
                     1,
                     {},
                     0};
  made.chain.push_back(
      {"kernel `blur`", "left", std::source_location::current(), {AllocationId{2}, 0, 8}});
  return made;
}

TEST(Unwritten, SaysWhichBytesByWayOfWhomAndWhy) {
  const Error error = unwritten({report(7, "kernel `load` threw: no file")});
  EXPECT_EQ(error.kind(), ErrorKind::unwritten);
  EXPECT_EQ(error.root().message(), "kernel `load` threw: no file");
  ASSERT_EQ(error.failures().size(), 1u);
  EXPECT_EQ(error.failures()[0].failure, FailureId{7});
  const std::string text = error.to_string();
  EXPECT_THAT(text, HasSubstr("64 bytes from byte 16 of allocation 3 were left unwritten."));
  EXPECT_THAT(text, HasSubstr("by way of kernel `blur` on stream `left`"));
  EXPECT_THAT(text, HasSubstr("failure_test.cpp:"));
  EXPECT_THAT(text, HasSubstr("skipped: it reads 8 bytes from byte 0 of allocation 2"));
  EXPECT_THAT(text, HasSubstr("caused by task_failed: kernel `load` threw: no file"));
  EXPECT_THAT(text, Not(HasSubstr(" more")));
}

TEST(Unwritten, MemoryOfTheProgramIsNamedByAddress) {
  FailureReport made = report(7, "one");
  made.bytes = {AllocationId{3}, 0x7f00, 64, true};
  const Error error = unwritten({std::move(made)});
  EXPECT_EQ(error.message(), "64 bytes at address 0x7f00 were left unwritten.");
  EXPECT_THAT(error.to_json(), HasSubstr(R"("bytes":{"allocation":3,"address":32512,)"));
}

TEST(Unwritten, NamesEveryFailureAndWhatIsLeftOut) {
  std::vector<FailureReport> reports{report(7, "one"), report(8, "two")};
  reports[0].chain_dropped = 41;
  const Error error = unwritten(std::move(reports));
  EXPECT_THAT(error.to_string(), HasSubstr("because of 1 more failures"));
  EXPECT_THAT(error.to_string(), HasSubstr("by way of 41 more"));
  EXPECT_THAT(error.to_string(), HasSubstr("because of task_failed: two"));
}

TEST(Unwritten, KeepsItsReportsWhereverItShows) {
  const Error error =
      unwritten({report(7, "one")}).with_context("read").at(std::source_location::current());
  EXPECT_EQ(error.failures().size(), 1u);
  EXPECT_EQ(error.caused_by(Error(ErrorKind::internal, "below")).failures().size(), 1u);
  EXPECT_EQ(error.caused_by(Error(ErrorKind::internal, "below")).root().message(), "below");
}

TEST(ErrorJson, IsOneObjectWithAllOfIt) {
  const Error plain(ErrorKind::timeout, "a \"quoted\" \\ text\n\x01\xff\xc3\xa4");
  const std::string json = plain.to_json();
  EXPECT_THAT(json, HasSubstr(R"({"kind":"timeout","message":"a \"quoted\" \\ text\u000a\u0001)"
                              "\xef\xbf\xbd\xc3\xa4\",\"file\":\""));
  EXPECT_THAT(json, Not(HasSubstr("failures")));
  const std::string full = unwritten({report(7, "one"), report(8, "two")}).to_json();
  EXPECT_THAT(full, HasSubstr(R"("failures":[{"failure":7,"bytes":{"allocation":3,"offset":16,)"
                              R"("size_bytes":64},"carriers":2,"skips":1,"root":{"kind":)"));
  EXPECT_THAT(full, HasSubstr(R"("chain":[{"task":"kernel `blur`","stream":"left","input":)"));
  EXPECT_THAT(full, HasSubstr(R"("chain_dropped":0}])"));
  EXPECT_THAT(full, HasSubstr(R"(,"cause":{"kind":"task_failed","message":"one",)"));
  EXPECT_EQ(std::count(full.begin(), full.end(), '{'), std::count(full.begin(), full.end(), '}'));
}

}  // namespace
}  // namespace thalweg::test
