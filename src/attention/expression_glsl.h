#pragma once

#include "attention/expression.h"

namespace headlight::attention {

/// The words of the mask where paint, documents and dropout begin, which such kernels read, too
/// (shaders/lib/paint.glsl); 0: the mask has none.
struct CellWords {
  std::uint32_t paint_at = 0, documents_at = 0, dropout_at = 0;

  bool empty() const { return paint_at == 0 && documents_at == 0 && dropout_at == 0; }
};

/// The functions of shaders/lib/expression.glsl as GLSL: which cells the expressions show, and how they change scores.
/// The text depends only on the expressions and on which words `cells` has: a slider's value, the layer, the tokens and
/// painted numbers are words of the mask buffer.
std::string expressions_glsl(const Expression& mask, const Expression& score, const CellWords& cells = {});

/// Appends to the mask's words the values that the expressions of one block read, in the layout of
/// shaders/lib/expression.glsl. Tokens are those of all batch items, [item · token], and left out where no expression
/// needs them; `block.head` isn't used.
void append_expression_words(std::vector<std::uint32_t>& words, const Expression& mask, const Expression& score,
                             const SliderValues& sliders, const ExpressionMap& block, const CellWords& cells = {});

}  // namespace headlight::attention
