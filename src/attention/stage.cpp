#include "attention/stage.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::attention {
namespace {

constexpr std::array<std::string_view, kStages> kNames = {"x",      "q",       "k",     "v",      "scores", "scaled",
                                                          "masked", "weights", "heads", "merged", "output"};

}  // namespace

std::string_view to_string(Stage stage) { return kNames[static_cast<std::size_t>(stage)]; }

Result<Stage> parse_stage(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<Stage>(i);
  }
  return Failure{fmt::format("unknown stage '{}': choose from {}", text, fmt::join(kNames, ", "))};
}

}  // namespace headlight::attention
