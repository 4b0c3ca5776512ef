#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attention/expression_tree.h"

namespace headlight::attention {

/// A word, number or sign of an expression.
struct ExpressionToken {
  enum class Kind : std::uint8_t { Word, Number, Sign, End };
  Kind kind = Kind::End;
  std::string_view text;            ///< as typed; of the end: empty
  std::uint32_t column = 1;         ///< from 1
  ValueType type = ValueType::Int;  ///< of a number
  double number = 0.0;
};

/// Thrown by the parser's functions and caught by parse_expression().
struct ExpressionRefusal {
  ExpressionError error;
};

/// A word of the text for a message, in quotation marks; of a long one the middle becomes "…".
std::string quoted(std::string_view word);

/// The tokens of a text, the end included. Throws ExpressionRefusal at what isn't one. Views are of `text`.
std::vector<ExpressionToken> expression_tokens(std::string_view text);

}  // namespace headlight::attention
