#pragma once

#include "attention/expression.h"

namespace headlight::attention {

/// An expression of the literature, to begin with.
struct ExpressionPreset {
  std::string_view name;  ///< "ALiBi"
  ExpressionUse use = ExpressionUse::Mask;
  std::string_view text;
  std::string_view help;          ///< one sentence: what it does, and whose it is
  bool needs_later_keys = false;  ///< it says by itself which later keys a query sees, so that the causal rule is in its way
};

std::span<const ExpressionPreset> expression_presets();

}  // namespace headlight::attention
