#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/head_metric.h"
#include "evaluation/progress.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// Metrics of a head that need no pattern (head_metric.h).
struct Spread {
  double entropy = 0.0, relative_entropy = 0.0, sink_share = 0.0, distance = 0.0;
};

/// One head of a model with a single stack: means over texts.
struct HeadScore {
  std::uint32_t layer = 0, head = 0;
  double previous_token = 0.0, duplicate_token = 0.0, induction = 0.0;
  Spread spread = {};
};

/// Random tokens repeated once, without a begin token: all ids except the model's special tokens are equally
/// likely. Drawn with std::mt19937_64: the next number of the generator modulo the count of ids, sequence by sequence.
struct RandomTokens {
  std::uint32_t sequences = 16;
  std::uint32_t span = 48;  ///< S; each sequence has 2 S tokens
  std::uint64_t seed = 1;
};
/// [sequence][2 S]. Throws Error when the model has too few positions or too few ids.
std::vector<std::vector<std::uint32_t>> random_repeats(const inference::LanguageModel& model, const RandomTokens& settings);

/// Every head's stripe scores (head_scores.h) on random tokens, layer by layer. Throws Error in one line for
/// encoder–decoders.
std::vector<HeadScore> survey_random(inference::Session& session, const inference::LanguageModel& model,
                                     const RandomTokens& settings, const Progress& progress = {});

/// Every head's scores of patterns (head_metric.h) on texts, each separately after the model's begin token, if it has one.
/// Throws Error in one line for encoder–decoders, models without a tokenizer and lines that don't fit (with their number).
std::vector<HeadScore> survey_texts(inference::Session& session, const inference::LanguageModel& model,
                                    std::span<const std::string> lines, const PatternScoring& scoring,
                                    const Progress& progress = {});

}  // namespace headlight::evaluation
