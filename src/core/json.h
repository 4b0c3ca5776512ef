#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace headlight {

/// How much a JSON text may ask for. The defaults are several times what the largest tokenizers take; one value takes up to
/// 80 bytes of memory.
struct JsonLimits {
  std::size_t bytes = std::size_t{128} << 20;
  std::size_t values = std::size_t{16} << 20;
  std::size_t depth = 64;            ///< lists and objects inside one another
  bool allows_repeated_keys = true;  ///< of two members with one name in an object the last counts
};

/// Every JSON text that Headlight reads goes through here, in time linear in its bytes. The failure says what is wrong
/// without naming the file: "not JSON (line 3, column 7)", "JSON nested more than 64 deep".
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// A file's JSON. Throws Error naming the file where parse_json() fails or read_file() throws.
nlohmann::json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

/// A value for a message, as JSON in ASCII; more than `longest` characters of it are neither shown nor looked at.
std::string shown(const nlohmann::json& value, std::size_t longest = 60);

}  // namespace headlight
