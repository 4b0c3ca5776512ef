#include "attention/fixed_pattern.h"

#include <array>
#include <utility>

namespace headlight::attention {
namespace {

constexpr std::array<std::pair<FixedPattern, std::string_view>, 4> kPatternNames = {{{FixedPattern::Uniform, "uniform"},
                                                                                     {FixedPattern::Diagonal, "diagonal"},
                                                                                     {FixedPattern::Previous, "previous"},
                                                                                     {FixedPattern::First, "first"}}};

}  // namespace

std::string_view to_string(FixedPattern pattern) {
  return std::ranges::find(kPatternNames, pattern, [](const auto& name) { return name.first; })->second;
}

std::optional<FixedPattern> parse_fixed_pattern(std::string_view text) {
  const auto found = std::ranges::find(kPatternNames, text, [](const auto& name) { return name.second; });
  return found == kPatternNames.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace headlight::attention
