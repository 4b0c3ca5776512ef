#pragma once

#include <cstdint>
#include <string>

#include "app/shell/theme.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "inference/session.h"
#include "model/network.h"

namespace headlight::app {

/// "Layer 1 · head 3 · encoder self-attention", for titles and tooltips.
std::string head_title(model::BlockRef block, std::uint32_t head);
/// "encoder self-attention", "decoder self-attention", "cross-attention".
const char* kind_text(model::BlockKind kind);

/// The name of a matrix: "queries", "attention weights".
const char* stage_title(attention::Stage stage);
/// Its letter in formulas and cells: "Q", "scores", "head", as math_text sets them.
const char* stage_symbol(attention::Stage stage);
/// Its formula, with the options of this layer: "Q = X W_Q + b_Q". `layer` may be null.
std::string stage_formula(attention::Stage stage, model::BlockRef block, const model::AttentionLayer* layer,
                          std::uint32_t head);
/// Its space in the field's letters: "ℝ^{n×d_k}".
std::string stage_space(attention::Stage stage, const inference::BlockShape& shape, model::BlockKind kind);

/// Blue for queries, red for keys, green for values, purple for attention and outputs; plain text for X.
shell::Color stage_color(attention::Stage stage, const shell::Theme& theme);

/// "−∞", "−10⁹" or "−10¹⁰".
const char* fill_text(attention::MaskFill fill);
/// 12 → "₁₂".
std::string subscript(std::uint32_t number);

}  // namespace headlight::app
