// SPDX-License-Identifier: Apache-2.0
//
// thalweg/base/result.hpp - a value or an Error, and the two macros that pass an Error on.
//
// Result<T> is tl::expected<T, Error> with [[nodiscard]] on the type: a refusal cannot be dropped
// by accident. It converts from a T and from an Error.

#pragma once

#include <concepts>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "thalweg/base/error.hpp"

namespace thalweg {

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;

  Result() = default;
  Result(Base other) : Base(std::move(other)) {}
  Result(Error error) : Base(tl::unexpect, std::move(error)) {}
};

namespace detail {
// Prints the error and ends the process with exit status 1. In an exploration it ends the run.
[[noreturn]] THALWEG_EXPORT void exit_with(const Error& error);
}  // namespace detail

// For examples and tests: the value, or the error on stderr and exit status 1. A library never
// calls it. In a program that is explored it throws: the run ends with a finding.
template <class T>
T must(Result<T> result) {
  if (!result) detail::exit_with(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace thalweg

// Returns the error of `expression` from the enclosing function, which returns a Result.
#define THALWEG_TRY(expression)                                                   \
  do {                                                                            \
    if (auto thalweg_try_result = (expression); !thalweg_try_result) [[unlikely]] \
      return std::move(thalweg_try_result).error();                               \
  } while (false)

#define THALWEG_DETAIL_PASTE_AGAIN(a, b) a##b
#define THALWEG_DETAIL_PASTE(a, b) THALWEG_DETAIL_PASTE_AGAIN(a, b)
#define THALWEG_DETAIL_TRY_ASSIGN(temporary, declaration, ...) \
  auto temporary = (__VA_ARGS__);                              \
  if (!temporary) [[unlikely]]                                 \
    return std::move(temporary).error();                       \
  declaration = std::move(*temporary)

// `THALWEG_TRY_ASSIGN(auto x, f());` declares x, or returns the error. It is several statements:
// put it in braces after `if` and `for`.
#define THALWEG_TRY_ASSIGN(declaration, ...) \
  THALWEG_DETAIL_TRY_ASSIGN(THALWEG_DETAIL_PASTE(thalweg_try_, __LINE__), declaration, __VA_ARGS__)
