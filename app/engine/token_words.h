#pragma once

#include <span>
#include <vector>

#include "text/token.h"

namespace headlight::app {

/// How a token follows the one before it in a text.
struct TokenPlace {
  std::string text;         ///< its label without the mark of a space or of a continued word; never empty
  bool begins_word = true;  ///< there is a space before it, it is the first, or a template added it or the one before
  bool is_special = false;  ///< a template added it, such as [CLS]
  bool is_space = false;    ///< the token is the space before a word alone

  bool operator==(const TokenPlace&) const = default;
};

/// The tokens of a line of the batch from their labels (text/label.h), whose "·" in front is a space, as "##" is none.
/// `tokens`: of a prompt, for labels from `start` on; empty where there is none: then labels are words.
std::vector<TokenPlace> token_places(std::span<const std::string> labels, std::span<const text::Token> tokens,
                                     std::uint32_t start);

/// The word that consecutive tokens make together: characters that they share are whole, the space before it is left out.
std::string word_text(std::span<const TokenPlace> tokens);

}  // namespace headlight::app
