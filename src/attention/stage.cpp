#include "attention/stage.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::attention {
namespace {

constexpr std::array<std::string_view, kStages> kStageNames = {
    "residual",  "x",        "q",          "k",          "v",          "scores",        "scaled",
    "masked",    "weights",  "heads",      "merged",     "output",     "attention_sum", "attended",
    "ffn_input", "ffn_gate", "ffn_hidden", "ffn_active", "ffn_output", "ffn_sum",       "next"};

}  // namespace

std::string_view to_string(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

Result<Stage> parse_stage(std::string_view text) {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (kStageNames[i] == text) return static_cast<Stage>(i);
  }
  return Failure{fmt::format("unknown stage '{}': choose from {}", text, fmt::join(kStageNames, ", "))};
}

}  // namespace headlight::attention
