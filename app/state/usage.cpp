#include "app/state/usage.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/ranges.h>

namespace headlight::app {
namespace {

constexpr std::size_t kLongestModelName = 40;

/// Returns the Levenshtein distance: insertions, deletions and substitutions that change one word into the other, which has
/// at most kLongestModelName letters.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::array<std::size_t, kLongestModelName + 1> row;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substituted = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[right.size()];
}

std::string joined(std::span<const std::string> names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestModelName) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

std::uint64_t parse_integer(std::string_view flag, const std::string& text, std::uint64_t low, std::uint64_t high) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw UsageError("{}: expected a whole number from {} to {}, found '{}'", flag, low, high, text);
  }
  return value;
}

float parse_number(std::string_view flag, const std::string& text, float low, float high) {
  float value = 0.0f;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = failure == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  if (!is_number || value < low || value > high) {
    throw UsageError("{}: expected a number from {} to {}, found '{}'", flag, low, high, text);
  }
  return value;
}

chart::ValueLimits parse_limits(std::string_view flag, const std::string& text) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) throw UsageError("{}: expected LOW,HIGH as in 0,0.05, found '{}'", flag, text);
  const chart::ValueLimits limits{.low = parse_number(flag, text.substr(0, comma), -kLargest, kLargest),
                                  .high = parse_number(flag, text.substr(comma + 1), -kLargest, kLargest)};
  if (!(limits.low < limits.high)) throw UsageError("{}: '{}': the first number must be below the second", flag, text);
  return limits;
}

bool parse_switch(std::string_view flag, const std::string& text) {
  if (text != "on" && text != "off") throw UsageError("{}: expected on or off, found '{}'", flag, text);
  return text == "on";
}

std::size_t parse_choice(std::string_view flag, const std::string& text, std::span<const std::string> names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string meant = nearest(text, names);
  if (meant.empty()) throw UsageError("{}: there is no '{}'; choose among {}", flag, text, joined(names));
  throw UsageError("{}: there is no '{}', did you mean {}? Choose among {}", flag, text, meant, joined(names));
}

std::vector<std::string> split_list(std::string_view flag, const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = value.find(',', begin);
      parts.push_back(value.substr(begin, end == std::string::npos ? end : end - begin));
      if (parts.back().empty()) throw UsageError("{}: '{}' has an empty name in it", flag, value);
      if (end == std::string::npos) break;
      begin = end + 1;
    }
  }
  return parts;
}

}  // namespace headlight::app
