#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"

namespace headlight::text {

/// An Error that already names the file and the path in it.
class LocatedError : public Error {
 public:
  using Error::Error;
};

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

  std::string string_or(std::string_view key, std::string_view fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::uint32_t id_or(std::string_view key, std::uint32_t fallback) const;

  /// Throws LocatedError: "<file>: <path> <reason>".
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
};

}  // namespace headlight::text
