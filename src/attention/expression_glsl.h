#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/expression.h"

namespace headlight::attention {

/// The functions of shaders/lib/expression.glsl that say which cells the expressions show and what they make of scores.
/// It depends on the texts alone: a slider's value, the layer and the tokens are words of the mask buffer.
std::string expressions_glsl(const Expression& mask, const Expression& score);

/// What the expressions of one block read, as shaders/lib/expression.glsl finds it, appended to the mask's words. Tokens are
/// those of all batch items, [item · token], and left out where no expression needs them; `block.head` isn't used.
void append_expression_words(std::vector<std::uint32_t>& words, const Expression& mask, const Expression& score,
                             const SliderValues& sliders, const ExpressionMap& block);

}  // namespace headlight::attention
