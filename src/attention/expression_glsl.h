#pragma once

#include "attention/expression.h"

namespace headlight::attention {

/// Where what else such kernels read begins in the mask's words (shaders/lib/paint.glsl); 0: there is none.
struct CellWords {
  std::uint32_t paint_at = 0, documents_at = 0, dropout_at = 0;

  bool empty() const { return paint_at == 0 && documents_at == 0 && dropout_at == 0; }
};

/// The functions of shaders/lib/expression.glsl that say which cells the expressions show and what they make of scores.
/// It depends on the texts and on what else there is alone: a slider's value, the layer, the tokens and painted numbers are
/// words of the mask buffer.
std::string expressions_glsl(const Expression& mask, const Expression& score, const CellWords& cells = {});

/// What the expressions of one block read, as shaders/lib/expression.glsl finds it, appended to the mask's words. Tokens are
/// those of all batch items, [item · token], and left out where no expression needs them; `block.head` isn't used.
void append_expression_words(std::vector<std::uint32_t>& words, const Expression& mask, const Expression& score,
                             const SliderValues& sliders, const ExpressionMap& block, const CellWords& cells = {});

}  // namespace headlight::attention
