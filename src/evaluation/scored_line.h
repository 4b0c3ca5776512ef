#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "inference/language_model.h"

namespace headlight::evaluation {

/// A text as ids, in the format of the model's training.
struct ScoredLine {
  std::vector<std::uint32_t> source = {};  ///< the encoder's input; empty for a model with one stack
  /// The first one is only input; each other is predicted from those before it. The last one is only predicted.
  std::vector<std::uint32_t> tokens = {};
  bool ends = false;  ///< is the last token the end token?

  /// Number of input tokens, and of predictions.
  std::size_t read_tokens() const { return tokens.empty() ? 0 : tokens.size() - 1; }
};

/// Throws Error in one line when nothing can be scored: the model attends to both sides, or has no logits or tokenizer.
void check_predicts_text(const inference::LanguageModel& model);

/// A text for a decoder-only model: with begin and end token, where the model has them and its tokenizer doesn't add them
/// itself. Without a begin token the text's first token isn't scored.
/// Throws Error when it has more tokens than the model has positions.
ScoredLine scored_line(const inference::LanguageModel& model, const std::string& text);
/// A source and an encoder–decoder's expected output: the decoder's start token before it, the end token after it.
ScoredLine scored_pair(const inference::LanguageModel& model, const std::string& source, const std::string& target);

}  // namespace headlight::evaluation
