#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "inference/language_model.h"

namespace headlight::evaluation {

/// A text as ids, the way the model was trained on it.
struct ScoredLine {
  std::vector<std::uint32_t> source = {};  ///< what the encoder reads; empty for a model with one stack
  /// The first one is only read; each of the others is predicted from those before it. The last one is only predicted.
  std::vector<std::uint32_t> tokens = {};
  bool ends = false;  ///< is the last token the one that ends a text?

  /// Tokens that the network reads, and predictions it is asked for.
  std::size_t read_tokens() const { return tokens.empty() ? 0 : tokens.size() - 1; }
};

/// Throws Error in one line when nothing can be scored: the model sees tokens on both sides, or has no logits or tokenizer.
void check_predicts_text(const inference::LanguageModel& model);

/// A text for a decoder alone: the begin token in front and the end token behind, where the model has them and its
/// tokenizer doesn't add them itself. Without a begin token the text's first token isn't scored.
/// Throws Error when it has more tokens than the model has positions.
ScoredLine scored_line(const inference::LanguageModel& model, const std::string& text);
/// A source and what an encoder–decoder should write: the decoder's start token in front, the end token behind.
ScoredLine scored_pair(const inference::LanguageModel& model, const std::string& source, const std::string& target);

}  // namespace headlight::evaluation
