#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Lengths of the residual stream's vectors [layers + 1]: the mean over tokens, and of one token.
struct ResidualCurve {
  std::vector<float> mean, token;
};

/// From lengths [layers + 1, tokens]; padding isn't counted: tokens [first, end). Whole layers only.
ResidualCurve residual_curve(std::span<const float> lengths, std::uint32_t tokens, std::uint32_t first, std::uint32_t end,
                             std::uint32_t token);

/// "Residual stream by layer": how long its vectors are before the first layer and behind each, in `area`; the selected
/// layer is marked, and a click on another one selects it.
void draw_residual_chart(Frame& frame, const view::Rect& area, std::uint32_t token);

}  // namespace headlight::app
