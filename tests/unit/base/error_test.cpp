// SPDX-License-Identifier: Apache-2.0
//
// Error: one shared, immutable body, and derived errors that leave it as it is.

#include "thalweg/base/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

namespace thalweg::test {
namespace {

using Site = std::source_location;

static_assert(std::is_nothrow_move_constructible_v<Error> && sizeof(Error) <= 2 * sizeof(void*));
static_assert(std::is_copy_constructible_v<Error>);

// What the constructor is given, and where it stands, is what the getters answer.
TEST(Error, SaysKindMessageAndTheCallSite) {
  const Error error(ErrorKind::invalid_size, "Too large.");
  const auto line = Site::current().line() - 1;
  EXPECT_EQ(error.kind(), ErrorKind::invalid_size);
  EXPECT_EQ(error.message(), "Too large.");
  EXPECT_EQ(error.site().line(), line);
  EXPECT_EQ(error.cause(), nullptr);
  EXPECT_EQ(&error.root(), &error);
}

// A copy shows the same text at the same address: nothing is duplicated.
TEST(Error, ACopySharesTheText) {
  const Error error(ErrorKind::internal, "A sentence that is longer than any small string buffer.");
  const Error copy = error;
  EXPECT_EQ(copy.message().data(), error.message().data());
  Error assigned(ErrorKind::timeout, "Other.");
  assigned = error;
  EXPECT_EQ(assigned.kind(), ErrorKind::internal);
  EXPECT_EQ(assigned.message().data(), error.message().data());
}

// Assigned to itself, through a reference so that no compiler objects, an error stays what it was.
TEST(Error, SelfAssignmentKeepsIt) {
  Error error(ErrorKind::timeout, "Late.");
  Error& same = error;
  error = same;
  EXPECT_EQ(error.message(), "Late.");
}

// A moved-from error is still an error that can be asked: it names its own misuse, and nothing
// crashes.
TEST(Error, MovedFromAnswersEveryQuestion) {
  Error error(ErrorKind::timeout, "Late.");
  const Error taken = std::move(error);
  EXPECT_EQ(taken.message(), "Late.");
  // NOLINTBEGIN(bugprone-use-after-move): what this test is about.
  EXPECT_EQ(error.kind(), ErrorKind::invalid_handle);
  EXPECT_EQ(error.message(), "The error was moved from.");
  EXPECT_EQ(error.site().line(), Site().line());
  EXPECT_EQ(error.cause(), nullptr);
  EXPECT_EQ(&error.root(), &error);
  EXPECT_EQ(error.with_context("upload").message(), "upload: The error was moved from.");
  EXPECT_EQ(error.at(Site::current()).kind(), ErrorKind::invalid_handle);
  EXPECT_NE(error.to_string().find("invalid_handle"), std::string::npos);
  const Error caused = taken.caused_by(error);
  ASSERT_NE(caused.cause(), nullptr);
  EXPECT_EQ(caused.cause()->kind(), ErrorKind::invalid_handle);
  // NOLINTEND(bugprone-use-after-move)
}

// Context goes before the message, twice in the order of the way out; the rest stays.
TEST(Error, ContextGoesBeforeTheMessage) {
  const Error error(ErrorKind::out_of_memory, "No bytes.");
  const Error outer = error.with_context("staging").with_context("upload of 12 bytes");
  EXPECT_EQ(outer.message(), "upload of 12 bytes: staging: No bytes.");
  EXPECT_EQ(outer.kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(outer.site().line(), error.site().line());
  EXPECT_EQ(error.message(), "No bytes.");
}

// at() changes the call site and nothing else, the original included.
TEST(Error, AtChangesTheCallSiteOnly) {
  const Error root(ErrorKind::device_lost, "Gone.");
  const Error error = Error(ErrorKind::task_failed, "Failed.").caused_by(root);
  const Site here = Site::current();
  const Error there = error.at(here);
  EXPECT_EQ(there.site().line(), here.line());
  EXPECT_EQ(there.message(), "Failed.");
  EXPECT_EQ(there.kind(), ErrorKind::task_failed);
  EXPECT_EQ(there.root().message(), "Gone.");
  EXPECT_NE(error.site().line(), here.line());
}

// A cause is put at the end of the chain, however long that is, and context keeps the chain.
TEST(Error, CausesFormAChain) {
  Error chain(ErrorKind::unwritten, "0");
  for (int i = 1; i <= 20; ++i)
    chain = chain.caused_by(Error(ErrorKind::task_failed, std::to_string(i)));
  chain = chain.with_context("c");
  int links = 0;
  for (const Error* error = chain.cause(); error != nullptr; error = error->cause())
    EXPECT_EQ(error->message(), std::to_string(++links));
  EXPECT_EQ(links, 20);
  EXPECT_EQ(chain.root().message(), "20");
  EXPECT_EQ(chain.message(), "c: 0");
}

// An error may be its own cause by value: that makes two links, not a loop.
TEST(Error, CausedByItselfIsNoLoop) {
  Error error(ErrorKind::internal, "x");
  error = error.caused_by(error);
  ASSERT_NE(error.cause(), nullptr);
  EXPECT_EQ(error.cause()->cause(), nullptr);
}

// to_string has a line for the error and for each cause, each with kind, message and place.
TEST(Error, ToStringHasALineForEachLink) {
  const Error root(ErrorKind::device_lost, "Gone.");
  const Error error = Error(ErrorKind::unwritten, "Not there.").caused_by(root);
  const std::string place = std::string(root.site().file_name()) + ":";
  EXPECT_EQ(error.to_string(), "unwritten: Not there. [" + place +
                                   std::to_string(error.site().line()) +
                                   "]\n  caused by device_lost: Gone. [" + place +
                                   std::to_string(root.site().line()) + "]");
}

// Braces are text, not a format: a message from outside may hold them.
TEST(Error, BracesInTextAreText) {
  const Error error = Error(ErrorKind::task_failed, "{} {0}").with_context("{x}");
  EXPECT_EQ(error.message(), "{x}: {} {0}");
  EXPECT_NE(error.to_string().find("{x}: {} {0}"), std::string::npos);
}

// Every kind has a name of its own; a value that is none does not crash.
TEST(Error, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const int count = static_cast<int>(ErrorKind::internal) + 1;
  for (int kind = 0; kind != count; ++kind) names.insert(name(static_cast<ErrorKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(name(static_cast<ErrorKind>(255)), "unknown");
}

}  // namespace
}  // namespace thalweg::test
