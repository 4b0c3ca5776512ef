#include "attention/stage.h"

#include <array>

namespace headlight::attention {
namespace {

constexpr std::array<std::string_view, kStages> kStageNames = {
    "residual",         "x",          "q",         "k",       "v",     "scores",   "content_position",
    "position_content", "scaled",     "masked",    "weights", "heads", "merged",   "output",
    "attention_sum",    "attended",   "ffn_input", "router",  "gates", "ffn_gate", "ffn_hidden",
    "ffn_active",       "ffn_output", "ffn_sum",   "next"};

}  // namespace

std::string_view to_string(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

}  // namespace headlight::attention
