#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "text/regex.h"

namespace headlight::text {

/// An Error that already names the file and the path in it.
class LocatedError : public Error {
 public:
  using Error::Error;
};

/// Adds the file's name to errors that `build` throws.
template <typename Build>
auto build_from(const std::filesystem::path& file, Build build) {
  try {
    return build();
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    throw Error("{}: {}", utf8(file), error.what());
  }
}

/// A JSON value with its path in the file, so that every error names both:
/// "tokenizer.json: model.merges[3] must be a string, but is number". The document must outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }

  /// A member that must be there.
  JsonNode at(std::string_view key) const;
  /// A member that may be absent or null.
  std::optional<JsonNode> find(std::string_view key) const;
  /// The elements of an array.
  std::vector<JsonNode> items() const;
  /// One element of an array; `index` must be inside it.
  JsonNode item(std::size_t index) const;

  const std::string& string() const;
  bool boolean() const;
  std::uint32_t id() const;
  /// A string of one character.
  char32_t character() const;
  /// {"String": "…"} or {"Regex": "…"}.
  Regex pattern() const;

  std::string string_or(std::string_view key, std::string_view fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::uint32_t id_or(std::string_view key, std::uint32_t fallback) const;

  /// Throws LocatedError: "<file>: <path> <reason>".
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

/// Calls `build` and adds the path of the node to the errors it throws.
template <typename Build>
auto build_at(const JsonNode& node, Build build) {
  try {
    return build();
  } catch (const LocatedError&) {
    throw;
  } catch (const Error& error) {
    node.fail(fmt::format("is unusable: {}", error.what()));
  }
}

/// A kind of stage by its name in tokenizer.json.
template <typename Stage>
struct StageKind {
  std::string_view type;
  Stage (*read)(const JsonNode& node);
};

/// The stage that a node describes; `what` names it in messages.
template <typename Stage, std::size_t kKinds>
Stage read_stage(const JsonNode& node, const StageKind<Stage> (&kinds)[kKinds], std::string_view what) {
  const JsonNode type = node.at("type");
  const auto* kind = std::ranges::find(kinds, std::string_view(type.string()), &StageKind<Stage>::type);
  if (kind == std::end(kinds)) type.fail(fmt::format("is \"{}\": Headlight knows no {} of this type", type.string(), what));
  return kind->read(node);
}

/// The stages of a sequence.
template <typename Stage>
std::vector<Stage> read_stages(const JsonNode& list, Stage (*read)(const JsonNode&)) {
  constexpr std::size_t kMax = 512;
  const std::size_t count = list.value().size();
  if (count > kMax) list.fail(fmt::format("has {} stages, more than {}", count, kMax));
  std::vector<Stage> stages;
  for (const JsonNode& item : list.items()) stages.push_back(read(item));
  return stages;
}

/// A stage of a tokenizer that has no tokenizer.json, described as one would.
template <typename Stage>
Stage built_in(Stage (*read)(const JsonNode&), const nlohmann::json& description) {
  return read(JsonNode(description, ""));
}

}  // namespace headlight::text
