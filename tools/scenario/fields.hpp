// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/fields.hpp - the keys of one object of a scenario, read strictly.
//
// Errors:     invalid_argument: "<file>:<line>: <key> of <what> is ...; it takes ...".

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/json_tree.hpp"
#include "thalweg/base/result.hpp"

namespace thalweg::tool::scenario {

// "a, b or c".
std::string one_of(const std::vector<std::string_view>& words);

// "fill.json:12: <text>".
Error error_at(std::string_view file, std::uint32_t line, const std::string& text);

struct Limits {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

class Fields {
 public:
  // `what` is what messages call the object: "the step `fill`".
  static Result<Fields> of(const json::Node& node, std::string what, std::string_view file);

  // Refuses all other keys.
  Result<void> only(const std::vector<std::string_view>& keys) const;

  const json::Node* find(std::string_view key) const noexcept;
  Result<const json::Node*> need(std::string_view key, std::string_view takes) const;

  Result<std::uint64_t> whole(std::string_view key, const Limits& limits) const;
  Result<std::optional<std::uint64_t>> whole_if_any(std::string_view key,
                                                    const Limits& limits) const;
  Result<std::string> text(std::string_view key) const;
  Result<bool> truth_or(std::string_view key, bool otherwise) const;

  // The number of the word that the key has; 0 where the key is not there.
  Result<std::size_t> choice_or_first(std::string_view key,
                                      const std::vector<std::string_view>& words) const;

  // The items of a list; none where the key is not there.
  Result<std::vector<const json::Node*>> list_if_any(std::string_view key) const;

  // The items of a list, or what stands there in place of one.
  std::vector<const json::Node*> one_or_more(std::string_view key) const;

  // A value that the key does not take.
  Error refusal(std::string_view key, const json::Node& node, std::string_view takes) const;
  Error error(std::uint32_t line, const std::string& text) const;

  Result<std::uint64_t> whole_of(std::string_view key, const json::Node& node,
                                 const Limits& limits) const;

  const json::Node& node() const noexcept { return *node_; }
  const std::string& what() const noexcept { return what_; }
  std::string_view file() const noexcept { return file_; }

 private:
  Fields(const json::Node& node, std::string what, std::string_view file)
      : node_(&node), what_(std::move(what)), file_(file) {}

  const json::Node* node_;
  std::string what_;
  std::string_view file_;
};

}  // namespace thalweg::tool::scenario
