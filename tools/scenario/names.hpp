// SPDX-License-Identifier: Apache-2.0
//
// tools/scenario/names.hpp - the objects that a scenario declares, by name.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "scenario/fields.hpp"
#include "scenario/scenario.hpp"

namespace thalweg::tool::scenario {

// "a stream", "a buffer", ...
std::string_view words_for(ObjectKind kind) noexcept;

class Names {
 public:
  // Gives the "name" of `fields` to `object`.
  Result<std::string> declare(const Fields& fields, ObjectId object);
  Result<std::string> declare(const Fields& fields, const json::Node& name, ObjectId object);

  // What the text at `key` names.
  Result<ObjectId> any(const Fields& fields, std::string_view key) const;
  Result<std::size_t> of_kind(const Fields& fields, std::string_view key, ObjectKind kind) const;
  Result<std::size_t> of_kind(const Fields& fields, std::string_view key, const json::Node& node,
                              std::string_view name, ObjectKind kind) const;

 private:
  struct Known {
    ObjectId object;
    std::uint32_t line = 0;
  };

  std::string list(ObjectKind kind) const;

  std::map<std::string, Known, std::less<>> known_;
};

}  // namespace thalweg::tool::scenario
