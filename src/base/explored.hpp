// SPDX-License-Identifier: Apache-2.0
//
// base/explored.hpp - where the program of an exploration is told of what would end the process, or
// go to the error sink.
//
// Threads:    each has a program of its own.
// Ownership:  a scope borrows its program.

#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/base/error.hpp"

namespace thalweg {

// Thrown by must() inside of a scope: the run ends, not the process. It leaves the library by way
// of the program's own functions only, and the explorer catches it behind them.
class MustFailed final : public std::exception {
 public:
  explicit MustFailed(const Error& error) : text_("must() fails with " + error.to_string()) {}

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

class ExploredProgram {
 public:
  // must() has `error`, and throws when this returns.
  virtual void must_fails(const Error& error) noexcept = 0;

  // Whether a fault was put in: errors that nobody takes are no news then.
  virtual bool fails_on_purpose() const noexcept = 0;

  // A callback threw something that calls itself `what`.
  virtual void callback_threw(std::string_view what) noexcept = 0;

  // The one whose code runs on this thread; null outside of explorations.
  static ExploredProgram* here() noexcept;

  // From here to the end of the thread, or of a scope around it, this thread's code is the
  // program's.
  static void enter(ExploredProgram& program) noexcept;

  // The same for as long as it lives.
  class Scope {
   public:
    explicit Scope(ExploredProgram& program) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ExploredProgram* const outer_;
  };

 protected:
  ~ExploredProgram() = default;
};

}  // namespace thalweg
