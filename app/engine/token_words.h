#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/network.h"
#include "text/token.h"

namespace headlight::app {

/// Are the queries of this kind of attention a target, so that each row writes the next token?
bool rows_write_tokens(const model::ModelInput& input, model::BlockKind kind);

/// Returns the word that each row of a target's batch item writes: row t the token t + 1, the last real row "…", because the
/// text doesn't contain its token. Padding keeps its labels.
std::vector<std::string> written_texts(const model::TokenBatch& target, std::uint32_t batch);

/// Returns the names of a line's tokens [length] where they stand outside of their text: with quotation marks where a name
/// is blank or a mark alone, with the position where another token has it: "“.” (61)".
std::vector<std::string> telling_names(const model::TokenBatch& tokens, std::uint32_t item);

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
