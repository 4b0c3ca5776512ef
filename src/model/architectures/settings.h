#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/architectures/family.h"
#include "model/gguf.h"

namespace headlight::model {

/// The settings of config.json or of a GGUF file; every value is checked against a range. Keys are alternatives separated by
/// '|': the first that exists and isn't null is used. Every function throws Error in one line naming file, key and value.
class Settings {
 public:
  /// Parses; `where` names the file in messages.
  Settings(std::string_view json, std::string where);
  Settings(nlohmann::json json, std::string where) : json_(std::move(json)), where_(std::move(where)) {}

  /// These settings without any key that isn't in `keys`; errors name none of those.
  Settings only(std::span<const std::string_view> keys) const;
  /// These settings, with missing keys taken from `defaults`, a JSON object.
  Settings over(nlohmann::json defaults) const;

  Settings with(std::string_view key, nlohmann::json value) const;

  bool is_empty() const { return json_.empty(); }
  bool has(Names keys) const { return find(keys).value != nullptr; }
  /// Does one of the alternatives exist with the value null?
  bool is_null(Names keys) const;

  bool is_list(Names keys) const;

  /// A whole number from 1 (or `smallest`) to `largest`.
  std::uint32_t count(Names keys, std::uint32_t largest) const;
  std::uint32_t count(Names keys, std::uint32_t fallback, std::uint32_t largest, std::uint32_t smallest = 1) const;
  /// A finite number from `smallest` to `largest`.
  double number(Names keys, double fallback, double smallest, double largest) const;
  bool flag(Names keys, bool fallback) const;  ///< null is false, as in Python
  std::string text(Names keys, std::string_view fallback) const;
  /// One id or several, as eos_token_id may be; negative ones mean none.
  std::vector<std::uint64_t> ids(Names keys) const;
  std::vector<double> numbers(Names keys, double smallest, double largest) const;
  /// A list, or one text with its parts separated by '|'.
  std::vector<std::string> texts(Names keys) const;
  /// A list of [texts, how often they repeat], the counts at most `largest`.
  std::vector<std::pair<std::vector<std::string>, std::uint32_t>> runs(Names keys, std::uint32_t largest) const;

  /// These settings with those of a nested object under its name and theirs: "attn_config.clip_qkv".
  Settings with_nested(std::string_view key) const;
  /// A nested object, nullopt when it is absent.
  std::optional<Settings> child(Names keys) const;
  /// The line "config.json: key is value, but must be …" as an Error.
  [[noreturn]] void refuse(Names keys, std::string_view expected) const;
  /// The same of a value that selects a network which Headlight doesn't compute.
  [[noreturn]] void refuse_network(Names keys, std::string_view expected) const;

 private:
  struct Found {
    std::string_view key;
    const nlohmann::json* value;
  };
  Found find(Names keys) const;
  double checked(const nlohmann::json& value, Names keys, double smallest, double largest) const;

  nlohmann::json json_;
  std::string where_;
  std::vector<std::string_view> known_ = {};  ///< of only(); empty: all
};

/// A GGUF file's metadata of its architecture, as load_network reads a config.json: "llama.block_count" as "block_count",
/// and values from elsewhere in the file (tokenizer ids, RoPE factors, vocabulary) under their names in config.json.
/// Throws Error naming what Headlight doesn't compute.
Settings gguf_settings(const GgufFile& file);

}  // namespace headlight::model
