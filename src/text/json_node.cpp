#include "text/json_node.h"

#include <limits>

#include "core/json.h"
#include "text/unicode.h"

namespace headlight::text {
namespace {

constexpr std::string_view kRootEnd = ": ";

std::string join(const std::string& path, std::string_view key) {
  const bool is_root = path.ends_with(kRootEnd);
  return fmt::format("{}{}{}", path, is_root ? "" : ".", key);
}

}  // namespace

void JsonNode::fail(std::string_view reason) const {
  if (path_.ends_with(kRootEnd)) throw LocatedError("{}{}", path_, reason);
  throw LocatedError("{} {}", path_, reason);
}

JsonNode JsonNode::at(std::string_view key) const {
  if (!value_->is_object()) fail(fmt::format("must be an object, but is {}", value_->type_name()));
  const auto member = value_->find(key);
  if (member == value_->end()) JsonNode(*value_, join(path_, key)).fail("is missing");
  return {*member, join(path_, key)};
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!value_->is_object()) fail(fmt::format("must be an object, but is {}", value_->type_name()));
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return JsonNode(*member, join(path_, key));
}

std::vector<JsonNode> JsonNode::items() const {
  if (!value_->is_array()) fail(fmt::format("must be an array, but is {}", value_->type_name()));
  std::vector<JsonNode> nodes;
  nodes.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) nodes.push_back(item(i));
  return nodes;
}

JsonNode JsonNode::item(std::size_t index) const { return {(*value_)[index], fmt::format("{}[{}]", path_, index)}; }

const std::string& JsonNode::string() const {
  const auto* text = value_->get_ptr<const std::string*>();
  if (text == nullptr) fail(fmt::format("must be a string, but is {}", value_->type_name()));
  return *text;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail(fmt::format("must be true or false, but is {}", value_->type_name()));
  return value_->get<bool>();
}

std::uint32_t JsonNode::id() const {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > kMax)
    fail(fmt::format("must be a whole number from 0 to {}, but is {}", kMax, shown(*value_)));
  return value_->get<std::uint32_t>();
}

char32_t JsonNode::character() const {
  const std::string& text = string();
  std::size_t at = 0;
  const char32_t c = text.empty() ? 0 : next_code_point(text, at);
  if (text.empty() || at != text.size()) fail(fmt::format("must be one character, but is \"{}\"", text));
  return c;
}

Regex JsonNode::pattern() const {
  if (const auto literal = find("String")) return build_at(*literal, [&] { return Regex::of_literal(literal->string()); });
  const JsonNode regex = at("Regex");
  return build_at(regex, [&] { return Regex(regex.string()); });
}

std::string JsonNode::string_or(std::string_view key, std::string_view fallback) const {
  const std::optional<JsonNode> member = find(key);
  return member ? member->string() : std::string(fallback);
}

bool JsonNode::boolean_or(std::string_view key, bool fallback) const {
  const std::optional<JsonNode> member = find(key);
  return member ? member->boolean() : fallback;
}

std::uint32_t JsonNode::id_or(std::string_view key, std::uint32_t fallback) const {
  const std::optional<JsonNode> member = find(key);
  return member ? member->id() : fallback;
}

}  // namespace headlight::text
