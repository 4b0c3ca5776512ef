#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "attention/expression.h"
#include "core/error.h"
#include "support/random.h"

namespace headlight::test {

/// Throws Error where it can't be accepted.
inline attention::Expression expression(std::string_view text, attention::ExpressionUse use) {
  auto parsed = attention::parse_expression(text, use);
  if (const auto* error = std::get_if<attention::ExpressionError>(&parsed)) throw Error("{}: {}", text, to_string(*error));
  return std::get<attention::Expression>(std::move(parsed));
}
inline attention::Expression mask_expression(std::string_view text) {
  return expression(text, attention::ExpressionUse::Mask);
}
inline attention::Expression score_expression(std::string_view text) {
  return expression(text, attention::ExpressionUse::Score);
}

/// Words, numbers and signs of the language in any order, or an accepted text in which some were changed.
std::string random_expression(Random& random);

}  // namespace headlight::test
