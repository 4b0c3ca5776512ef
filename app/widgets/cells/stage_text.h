#pragma once

#include "app/shapes/quantities/quantity.h"
#include "app/shell/theme.h"
#include "attention/mask.h"
#include "model/network.h"

namespace headlight::app {

struct EngineResult;

/// Returns "encoder self-attention", "decoder self-attention", "cross-attention".
const char* kind_text(model::BlockKind kind);
/// Returns kind_text(), or just "self-attention" in a model with a single stack.
const char* kind_name(const EngineResult& result, model::BlockKind kind);
/// Returns "Layer 1 · head 3 · self-attention", for titles and tooltips.
std::string head_title(const EngineResult& result, model::BlockRef block, std::uint32_t head);

/// Returns the colour of a quantity's role: blue for queries, red for keys, green for values, purple for attention and
/// outputs; plain text for inputs.
shell::Color role_color(Role role, const shell::Theme& theme);

/// Returns "−∞", "−10⁹" or "−10¹⁰".
const char* fill_text(attention::MaskFill fill);

/// Writes a number as a subscript: 12 → "₁₂".
std::string subscript(std::uint32_t number);

}  // namespace headlight::app
