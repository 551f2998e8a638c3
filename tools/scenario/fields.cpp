// SPDX-License-Identifier: Apache-2.0

#include "scenario/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text.hpp"

namespace thalweg::tool::scenario {
namespace {

using json::Kind;
using json::Node;

// What stands there, in a few words.
std::string found_text(const Node& node) {
  switch (node.kind) {
    case Kind::boolean:
      return node.truth ? "true" : "false";
    case Kind::whole:
      return fmt::format("{}{}", node.negative ? "-" : "", node.whole);
    case Kind::real:
      return in_quotes(node.text);
    case Kind::text:
      return in_quotes(node.text);
    default:
      return std::string(json::words_for(node.kind));
  }
}

}  // namespace

std::string one_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

Error error_at(std::string_view file, std::uint32_t line, const std::string& text) {
  return Error(ErrorKind::invalid_argument, fmt::format("{}:{}: {}", file, line, text));
}

Result<Fields> Fields::of(const Node& node, std::string what, std::string_view file) {
  if (node.kind == Kind::object) return Fields(node, std::move(what), file);
  return error_at(file, node.line,
                  fmt::format("{} is {}; it takes an object.", what, found_text(node)));
}

Error Fields::error(std::uint32_t line, const std::string& text) const {
  return error_at(file_, line, text);
}

Error Fields::refusal(std::string_view key, const Node& node, std::string_view takes) const {
  return error(node.line, fmt::format("\"{}\" of {} is {}; it takes {}.", key, what_,
                                      found_text(node), takes));
}

Result<void> Fields::only(const std::vector<std::string_view>& keys) const {
  for (const json::Member& member : node_->members) {
    if (std::find(keys.begin(), keys.end(), member.key) != keys.end()) continue;
    return error(member.line, fmt::format("{} has no key {}; its keys are {}.", what_,
                                          in_quotes(member.key), fmt::join(keys, ", ")));
  }
  return {};
}

const Node* Fields::find(std::string_view key) const noexcept {
  for (const json::Member& member : node_->members)
    if (member.key == key) return &member.value;
  return nullptr;
}

Result<const Node*> Fields::need(std::string_view key, std::string_view takes) const {
  if (const Node* node = find(key)) return node;
  return error(node_->line, fmt::format("{} needs \"{}\", {}.", what_, key, takes));
}

Result<std::uint64_t> Fields::whole_of(std::string_view key, const Node& node,
                                       const Limits& limits) const {
  const bool fits = node.kind == Kind::whole && !node.negative && node.whole >= limits.least &&
                    node.whole <= limits.most;
  if (fits) return node.whole;
  return refusal(key, node,
                 limits.least == limits.most
                     ? std::to_string(limits.least)
                     : fmt::format("a whole number from {} to {}", limits.least, limits.most));
}

Result<std::uint64_t> Fields::whole(std::string_view key, const Limits& limits) const {
  THALWEG_TRY_ASSIGN(const Node* const node, need(key, "a whole number"));
  return whole_of(key, *node, limits);
}

Result<std::optional<std::uint64_t>> Fields::whole_if_any(std::string_view key,
                                                          const Limits& limits) const {
  const Node* const node = find(key);
  if (node == nullptr) return std::optional<std::uint64_t>();
  THALWEG_TRY_ASSIGN(const std::uint64_t value, whole_of(key, *node, limits));
  return std::optional(value);
}

Result<std::string> Fields::text(std::string_view key) const {
  THALWEG_TRY_ASSIGN(const Node* const node, need(key, "a text"));
  if (node->kind != Kind::text) return refusal(key, *node, "a text");
  return node->text;
}

Result<bool> Fields::truth_or(std::string_view key, bool otherwise) const {
  const Node* const node = find(key);
  if (node == nullptr) return otherwise;
  if (node->kind != Kind::boolean) return refusal(key, *node, "true or false");
  return node->truth;
}

Result<std::size_t> Fields::choice_or_first(std::string_view key,
                                            const std::vector<std::string_view>& words) const {
  const Node* const node = find(key);
  if (node == nullptr) return std::size_t{0};
  const auto word = std::find(words.begin(), words.end(), node->text);
  if (node->kind != Kind::text || word == words.end()) return refusal(key, *node, one_of(words));
  return static_cast<std::size_t>(word - words.begin());
}

Result<std::vector<const Node*>> Fields::list_if_any(std::string_view key) const {
  const Node* const node = find(key);
  if (node != nullptr && node->kind != Kind::list) return refusal(key, *node, "a list");
  return one_or_more(key);
}

std::vector<const Node*> Fields::one_or_more(std::string_view key) const {
  std::vector<const Node*> nodes;
  const Node* const node = find(key);
  if (node == nullptr) return nodes;
  if (node->kind != Kind::list) return {node};
  for (const Node& item : node->items) nodes.push_back(&item);
  return nodes;
}

}  // namespace thalweg::tool::scenario
