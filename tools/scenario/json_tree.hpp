// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/json_tree.hpp - a JSON document as values that know their line.
//
// Stricter than JSON where that finds mistakes: a key may stand only once in an object. Nesting is
// bounded, so that no document overflows the stack of whoever walks the tree.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/result.hpp"

namespace thalweg::tool::json {

inline constexpr std::size_t kDepthMax = 32;

enum class Kind : std::uint8_t {
  null,
  boolean,
  whole,  // A whole number of at most 64 bits.
  real,   // Any other number.
  text,
  list,
  object,
};

struct Member;

struct Node {
  Kind kind = Kind::null;
  bool truth = false;
  bool negative = false;  // `whole` is then how far below zero.
  std::uint32_t line = 1;
  std::uint64_t whole = 0;
  std::string text;  // Of a text; of a real number as it was written.
  std::vector<Node> items;
  std::vector<Member> members;
};

struct Member {
  std::string key;
  std::uint32_t line = 1;
  Node value;
};

// "a number", "a list": what a message calls it.
std::string_view words_for(Kind kind) noexcept;

// Errors: invalid_argument, "<name>:<line>: <what is wrong>".
Result<Node> parse(std::string_view text, std::string_view name);

}  // namespace thalweg::tool::json
