#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

namespace headlight {

/// Limits on a JSON text. The defaults are several times the needs of the largest tokenizers; one value takes up to 80 bytes
/// of memory.
struct JsonLimits {
  std::size_t bytes = std::size_t{128} << 20;
  std::size_t values = std::size_t{16} << 20;
  std::size_t depth = 64;            ///< nested lists and objects
  bool allows_repeated_keys = true;  ///< of two members with the same name the last is used
};

/// Parses every JSON text that Headlight reads, in time linear in its bytes. The failure says what is wrong
/// without naming the file: "not JSON (line 3, column 7)", "JSON nested more than 64 deep".
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// A file's JSON. Throws Error naming the file where parse_json() fails or read_file() throws.
nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

/// The value as JSON; `indent`: spaces a level, −1 for all on one line. Invalid UTF-8 becomes U+FFFD. No newline at the end.
std::string to_text(const nlohmann::json& value, int indent = 2);
std::string to_text(const nlohmann::ordered_json& value, int indent = 2);

/// A value for a message, as JSON in ASCII, cut after `longest` characters; the rest isn't read.
std::string shown(const nlohmann::json& value, std::size_t longest = 60);

}  // namespace headlight
