#include "attention/fixed_pattern.h"

#include <array>
#include <utility>

namespace headlight::attention {
namespace {

constexpr std::array<std::pair<FixedPattern, std::string_view>, 4> kNames = {{{FixedPattern::Uniform, "uniform"},
                                                                              {FixedPattern::Diagonal, "diagonal"},
                                                                              {FixedPattern::Previous, "previous"},
                                                                              {FixedPattern::First, "first"}}};

}  // namespace

std::string_view to_string(FixedPattern pattern) {
  return std::ranges::find(kNames, pattern, [](const auto& name) { return name.first; })->second;
}

std::optional<FixedPattern> parse_fixed_pattern(std::string_view text) {
  const auto found = std::ranges::find(kNames, text, [](const auto& name) { return name.second; });
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace headlight::attention
