#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/progress.h"
#include "evaluation/scored_line.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// A model's negative log-likelihood of texts, and the counts to normalise it by.
struct Likelihood {
  double nats = 0.0;  ///< −Σ ln p of the scored tokens
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

/// Of texts, each separately. `sources` are the texts that an encoder–decoder translates, one for each text; empty for other
/// models. Throws Error in one line, with the line's number where a line is at fault.
Likelihood likelihood(inference::Session& session, const inference::LanguageModel& model,
                      std::span<const std::string> sources, std::span<const std::string> texts,
                      const Progress& progress = {});

}  // namespace headlight::evaluation
