// SPDX-License-Identifier: Apache-2.0

#include "scenario/json_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "text.hpp"

namespace thalweg::tool::json {
namespace {

using Json = nlohmann::json;

// Gives the parser the text, and tells how much of it was taken.
class Characters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Characters(const char* at, std::size_t* taken) noexcept : at_(at), taken_(taken) {}

  reference operator*() const noexcept { return *at_; }
  Characters& operator++() noexcept {
    ++at_;
    ++*taken_;
    return *this;
  }
  Characters operator++(int) noexcept {
    const Characters before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Characters& a, const Characters& b) noexcept {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  std::size_t* taken_;
};

// An object or a list that is not closed yet.
struct Open {
  Node node;
  std::string key;  // Whose value comes next.
  std::uint32_t key_line = 1;
  std::set<std::string, std::less<>> keys;
};

class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}

  std::size_t* taken() noexcept { return &taken_; }
  Node& root() noexcept { return root_; }
  std::uint32_t error_line() const noexcept { return error_line_; }
  const std::string& error() const noexcept { return error_; }

  bool null() override { return add(made(Kind::null)); }
  bool boolean(bool value) override {
    Node node = made(Kind::boolean);
    node.truth = value;
    return add(std::move(node));
  }
  bool number_integer(std::int64_t value) override {
    Node node = made_number(Kind::whole);
    node.negative = value < 0;
    node.whole =
        node.negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    return add(std::move(node));
  }
  bool number_unsigned(std::uint64_t value) override {
    Node node = made_number(Kind::whole);
    node.whole = value;
    return add(std::move(node));
  }
  bool number_float(double, const std::string& written) override {
    Node node = made_number(Kind::real);
    node.text = written;
    return add(std::move(node));
  }
  bool string(std::string& value) override {
    Node node = made(Kind::text);
    node.text = std::move(value);
    return add(std::move(node));
  }
  bool binary(Json::binary_t&) override { return fail("JSON has no binary values."); }

  bool start_object(std::size_t) override { return start(Kind::object); }
  bool start_array(std::size_t) override { return start(Kind::list); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }

  bool key(std::string& value) override {
    Open& object = open_.back();
    object.key_line = line_at(taken_);
    if (!object.keys.insert(value).second)
      return fail(fmt::format("The key {} stands twice in one object.", in_quotes(value)));
    object.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const Json::exception& exception) override {
    // Up to the character that was one too many.
    taken_ = std::min(position == 0 ? 0 : position - 1, text_.size());
    return fail(words_of(exception.what()));
  }

 private:
  // The parser's own place stands in front of what it has to say, and behind that all it last read:
  // up to a text as long as the file.
  static std::string words_of(std::string_view what) {
    constexpr std::size_t kWordsMax = 200;
    const std::size_t column = what.find(", column ");
    const std::size_t colon = column == std::string_view::npos ? column : what.find(": ", column);
    if (colon != std::string_view::npos)
      return "This is no JSON: " + shortened(what.substr(colon + 2), kWordsMax);
    const std::size_t bracket = what.find("] ");
    return shortened(bracket == std::string_view::npos ? what : what.substr(bracket + 2),
                     kWordsMax);
  }

  // Called with places that do not go back.
  std::uint32_t line_at(std::size_t place) {
    const std::size_t end = std::min(place, text_.size());
    if (end > counted_) {
      line_ += static_cast<std::uint32_t>(
          std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                     text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      counted_ = end;
    }
    return line_;
  }

  Node made(Kind kind) {
    Node node;
    node.kind = kind;
    node.line = line_at(taken_);
    return node;
  }

  // A number ends at the character behind it, which is taken by then, unless the text ends first.
  Node made_number(Kind kind) {
    Node node;
    node.kind = kind;
    node.line = line_at(taken_ == 0 ? 0 : taken_ - 1);
    return node;
  }

  bool add(Node&& node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Kind::list)
      parent.node.items.push_back(std::move(node));
    else
      parent.node.members.push_back({std::move(parent.key), parent.key_line, std::move(node)});
    return true;
  }

  bool start(Kind kind) {
    if (open_.size() == kDepthMax)
      return fail(fmt::format("Values are nested more than {} deep.", kDepthMax));
    open_.emplace_back();
    open_.back().node = made(kind);
    return true;
  }

  bool end() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    return add(std::move(node));
  }

  bool fail(std::string words) {
    error_ = std::move(words);
    error_line_ = line_at(taken_);
    return false;
  }

  const std::string_view text_;
  std::size_t taken_ = 0;
  std::size_t counted_ = 0;
  std::uint32_t line_ = 1;  // At `counted_`.
  std::vector<Open> open_;
  Node root_;
  std::string error_;
  std::uint32_t error_line_ = 1;
};

}  // namespace

std::string_view words_for(Kind kind) noexcept {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "true or false";
    case Kind::whole:
      return "a whole number";
    case Kind::real:
      return "a number with a fraction, an exponent or more than 64 bits";
    case Kind::text:
      return "a text";
    case Kind::list:
      return "a list";
    case Kind::object:
      return "an object";
  }
  return "unknown";
}

Result<Node> parse(std::string_view text, std::string_view name) {
  Builder builder(text);
  const Characters begin(text.data(), builder.taken());
  const Characters end(text.data() + text.size(), builder.taken());
  if (Json::sax_parse(begin, end, &builder)) return std::move(builder.root());
  return Error(ErrorKind::invalid_argument,
               fmt::format("{}:{}: {}", name, builder.error_line(), builder.error()));
}

}  // namespace thalweg::tool::json
