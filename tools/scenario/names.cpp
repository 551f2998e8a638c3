// SPDX-License-Identifier: Apache-2.0

#include "scenario/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text.hpp"

namespace thalweg::tool::scenario {
namespace {

// ASCII alone, in every locale.
bool letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool well_formed(std::string_view name) noexcept {
  if (name.empty() || name.size() > kNameMax || !letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

std::string_view words_for(ObjectKind kind) noexcept {
  switch (kind) {
    case ObjectKind::stream:
      return "a stream";
    case ObjectKind::buffer:
      return "a buffer";
    case ObjectKind::event:
      return "an event";
    case ObjectKind::timeline:
      return "a timeline";
  }
  return "unknown";
}

Result<std::string> Names::declare(const Fields& fields, ObjectId object) {
  THALWEG_TRY_ASSIGN(const json::Node* const name, fields.need("name", "a text"));
  return declare(fields, *name, object);
}

Result<std::string> Names::declare(const Fields& fields, const json::Node& name, ObjectId object) {
  if (name.kind != json::Kind::text || !well_formed(name.text))
    return fields.refusal("name", name,
                          fmt::format("a letter, then letters, digits, '_', '-' and '.', {} in all "
                                      "at most",
                                      kNameMax));
  const auto [known, fresh] = known_.emplace(name.text, Known{object, name.line});
  if (fresh) return name.text;
  return fields.error(name.line,
                      fmt::format("The name '{}' is taken: line {} declares {} of it.", name.text,
                                  known->second.line, words_for(known->second.object.kind)));
}

Result<ObjectId> Names::any(const Fields& fields, std::string_view key) const {
  THALWEG_TRY_ASSIGN(const json::Node* const node, fields.need(key, "a declared name"));
  if (node->kind != json::Kind::text) return fields.refusal(key, *node, "a declared name");
  const auto known = known_.find(node->text);
  if (known != known_.end()) return known->second.object;
  return fields.error(node->line, fmt::format("\"{}\" of {} names {}, which is not declared.", key,
                                              fields.what(), in_quotes(node->text)));
}

Result<std::size_t> Names::of_kind(const Fields& fields, std::string_view key,
                                   ObjectKind kind) const {
  THALWEG_TRY_ASSIGN(const json::Node* const node,
                     fields.need(key, fmt::format("the name of {}", words_for(kind))));
  if (node->kind != json::Kind::text)
    return fields.refusal(key, *node, fmt::format("the name of {}", words_for(kind)));
  return of_kind(fields, key, *node, node->text, kind);
}

Result<std::size_t> Names::of_kind(const Fields& fields, std::string_view key,
                                   const json::Node& node, std::string_view name,
                                   ObjectKind kind) const {
  const auto known = known_.find(name);
  if (known != known_.end() && known->second.object.kind == kind) return known->second.object.index;
  const std::string problem =
      known == known_.end()
          ? "is not declared"
          : fmt::format("is {}, not {}", words_for(known->second.object.kind), words_for(kind));
  return fields.error(node.line,
                      fmt::format("\"{}\" of {} names {}, which {}; declared are {}.", key,
                                  fields.what(), in_quotes(name), problem, list(kind)));
}

std::string Names::list(ObjectKind kind) const {
  constexpr std::size_t kListedMax = 12;
  std::string text;
  std::size_t count = 0;
  for (const auto& [name, known] : known_) {
    if (known.object.kind != kind) continue;
    if (++count > kListedMax) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace thalweg::tool::scenario
