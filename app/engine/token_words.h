#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/token.h"

namespace headlight::app {

/// How a token follows the one before it in a text.
struct TokenPlace {
  std::string text;         ///< its label without the mark of a space or of a continued word; never empty
  bool begins_word = true;  ///< there is a space before it, it is the first, or a template added it or the one before
  bool is_special = false;  ///< a template added it, such as [CLS]

  bool operator==(const TokenPlace&) const = default;
};

/// The tokens of a line of the batch from their labels (text/label.h), whose "·" in front is a space, as "##" is none.
/// `tokens`: of a model's prompt, for labels from `start` on; empty without a model, whose labels are words.
std::vector<TokenPlace> token_places(std::span<const std::string> labels, std::span<const text::Token> tokens,
                                     std::uint32_t start);

}  // namespace headlight::app
