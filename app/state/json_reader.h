#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json.h"

namespace headlight::app {

/// The name of an enumerator in files and flags.
template <typename Enum>
using EnumName = std::pair<Enum, std::string_view>;

template <typename Enum>
std::string_view enum_name(std::span<const EnumName<std::type_identity_t<Enum>>> names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  throw Error("an enumerator without a name");
}

/// Reads one JSON object member by member. A missing key leaves the variable unchanged; an invalid value throws Error
/// naming the key with its full path, the expected and the found value.
class JsonReader {
 public:
  /// Throws when `json` isn't an object.
  JsonReader(const nlohmann::json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) throw Error("{}: expected an object, found {}", path_.empty() ? "the file" : path_, shown(json));
  }

  const nlohmann::json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  /// Returns "view.theme" for "theme" in the object "view".
  std::string path(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }

  void read(const char* key, bool& out) const {
    if (const nlohmann::json* value = find(key)) {
      if (!value->is_boolean()) fail(key, "true or false", *value);
      out = value->get<bool>();
    }
  }

  void read(const char* key, std::string& out) const {
    if (const nlohmann::json* value = find(key)) {
      if (!value->is_string()) fail(key, "a text", *value);
      out = value->get<std::string>();
    }
  }

  template <std::integral Integer>
  void read(const char* key, Integer& out, Integer low, Integer high) const {
    if (const nlohmann::json* value = find(key)) out = integer(path(key), *value, low, high);
  }

  void read(const char* key, float& out, float low, float high) const {
    if (const nlohmann::json* value = find(key)) {
      const bool fits = value->is_number() && value->get<float>() >= low && value->get<float>() <= high;
      if (!fits) fail(key, fmt::format("a number from {} to {}", low, high), *value);
      out = value->get<float>();
    }
  }

  /// Returns the number of the member's text among `names`, if the member is there.
  std::optional<std::size_t> read_choice(const char* key, std::span<const std::string_view> names) const {
    const nlohmann::json* value = find(key);
    if (!value) return std::nullopt;
    if (value->is_string()) {
      const auto found = std::ranges::find(names, std::string_view(value->get_ref<const std::string&>()));
      if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    }
    fail(key, fmt::format("one of {}", fmt::join(names, ", ")), *value);
  }

  template <typename Enum>
  void read_enum(const char* key, Enum& out, std::span<const EnumName<std::type_identity_t<Enum>>> names) const {
    std::vector<std::string_view> texts;
    for (const auto& [value, name] : names) texts.push_back(name);
    if (const std::optional<std::size_t> choice = read_choice(key, texts)) out = names[*choice].first;
  }

  /// Reads one integer inside [low, high], of any key or list.
  template <std::integral Integer>
  static Integer integer(const std::string& path, const nlohmann::json& value, Integer low, Integer high) {
    bool fits = value.is_number_unsigned() && std::cmp_less_equal(value.get<std::uint64_t>(), high) &&
                std::cmp_greater_equal(value.get<std::uint64_t>(), low);
    if (value.is_number_integer() && !value.is_number_unsigned()) {
      fits = std::cmp_less_equal(value.get<std::int64_t>(), high) && std::cmp_greater_equal(value.get<std::int64_t>(), low);
    }
    if (!fits) throw Error("{}: expected a whole number from {} to {}, found {}", path, low, high, shown(value));
    return value.get<Integer>();
  }

  [[noreturn]] void fail(const char* key, const std::string& expected, const nlohmann::json& found) const {
    throw Error("{}: expected {}, found {}", path(key), expected, shown(found));
  }

 private:
  const nlohmann::json& json_;
  std::string path_;
};

/// Has the file a version that this program doesn't know yet? One without a version is old.
inline bool is_of_newer_version(const nlohmann::json& file, std::uint32_t newest) {
  const auto version = file.find("version");
  return version != file.end() && version->is_number() && *version > newest;
}

}  // namespace headlight::app
