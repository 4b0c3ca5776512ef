#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluation/batches.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// A text as BLEU and the perplexity of a word count it: lower-cased, runs of letters, numbers and underscores are words,
/// and every other character that is no white space is a word of its own. That is what Python's
/// re.findall(r"\w+|[^\w\s]", text.lower()) gives, but for a Σ at a word's end, which Python lower-cases to ς and this to σ,
/// and for characters that the older of the two Unicode tables lacks. Invalid UTF-8 counts as U+FFFD.
std::vector<std::string> words_of(std::string_view text);

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
/// itself. Without a begin token the text's first token isn't scored. No tokens where the text has none of its own.
/// Throws Error when it has more tokens than the model has positions.
ScoredLine scored_line(const inference::LanguageModel& model, const std::string& text);
/// A source and an encoder–decoder's expected output: the decoder's start token before it, the end token after it.
ScoredLine scored_pair(const inference::LanguageModel& model, const std::string& source, const std::string& target);

/// A model's negative log-likelihood of texts, and the counts to normalise it by.
struct Likelihood {
  double nats = 0.0;        ///< −Σ ln p of the scored tokens
  std::uint64_t lines = 0;  ///< with a token of their own: others are no texts
  std::uint64_t tokens = 0;
  std::uint64_t words = 0;  ///< words_of() the texts, + 1 a text for its end where the end is scored
  std::uint64_t bytes = 0;  ///< UTF-8 bytes of the texts, + 1 likewise

  double perplexity_per_token() const;  ///< exp(nats / tokens)
  double perplexity_per_word() const;   ///< exp(nats / words): comparable between vocabularies
  double bits_per_byte() const;         ///< nats / ln 2 / bytes
};

/// −Σ ln p(token | tokens before it) of each line in nats, by a softmax over the whole vocabulary in double precision.
/// Lines are run in batches of about the same length. Throws Error in one line when the model predicts no next token.
std::vector<double> negative_log_likelihoods(inference::Session& session, const inference::LanguageModel& model,
                                             std::span<const ScoredLine> lines, const Progress& progress = {});

/// Returns the likelihood of texts, each scored separately. `sources` are the texts that an encoder–decoder translates,
/// one for each text; empty for other models. Throws Error in one line, with the line's number where a line is at
/// fault.
Likelihood likelihood(inference::Session& session, const inference::LanguageModel& model,
                      std::span<const std::string> sources, std::span<const std::string> texts,
                      const Progress& progress = {});

}  // namespace headlight::evaluation
