#pragma once

#include <functional>
#include <string_view>

#include "chart/value_scale.h"
#include "core/error.h"

namespace headlight::app {

/// The command line itself is wrong: exit status 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Returns the candidate with the fewest edits from `word`; empty when none is similar enough.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// Read a number from `low` to `high`. `flag` is named in every message: "--heads: expected a whole number from 1 to 64,
/// found 65".
std::uint64_t parse_integer(std::string_view flag, const std::string& text, std::uint64_t low, std::uint64_t high);
float parse_number(std::string_view flag, const std::string& text, float low, float high);
/// Reads "LOW,HIGH" with LOW below HIGH.
chart::ValueLimits parse_limits(std::string_view flag, const std::string& text);
/// Reads "on" or "off".
bool parse_switch(std::string_view flag, const std::string& text);
/// Returns the position of `text` in `names`.
std::size_t parse_choice(std::string_view flag, const std::string& text, std::span<const std::string> names);
/// Splits "a,b" and {"a", "b"} alike; empty parts are refused.
std::vector<std::string> split_list(std::string_view flag, const std::vector<std::string>& values);

}  // namespace headlight::app
