#pragma once

#include <array>

#include "evaluation/batches.h"
#include "evaluation/head_metric.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// A number for each metric, in the order of HeadMetric; none where it isn't defined.
using MetricValues = std::array<std::optional<double>, kHeadMetrics>;

/// One head of a model with a single stack: means over the texts in which a metric is defined.
struct HeadScore {
  std::uint32_t layer = 0, head = 0;
  MetricValues means = {};

  std::optional<double> mean(HeadMetric metric) const { return means[static_cast<std::size_t>(metric)]; }
};

/// Random tokens repeated once, without a begin token: all ids except the model's special tokens are equally
/// likely. Drawn with std::mt19937_64: the next number of the generator modulo the count of ids, sequence by sequence.
struct RandomTokens {
  std::uint32_t sequences = 16;
  std::uint32_t span = 48;  ///< S; each sequence has 2 S tokens
  std::uint64_t seed = 1;
};
/// All ids of the vocabulary but the model's special tokens.
std::vector<std::uint32_t> ordinary_ids(const inference::LanguageModel& model);
/// [sequence][2 S]. Throws Error when the model has too few positions or too few ids.
std::vector<std::vector<std::uint32_t>> random_repeats(const inference::LanguageModel& model, const RandomTokens& settings);

/// Every head's metrics on random tokens, layer by layer, with stripe scores (head_scores.h) in the place of those of
/// patterns. Throws Error in one line for encoder–decoders.
std::vector<HeadScore> survey_random(inference::Session& session, const inference::LanguageModel& model,
                                     const RandomTokens& settings, const Progress& progress = {});

/// Every head's metrics (head_metric.h) on texts, each separately as text_ids() (head_maps.h) gives it; lines without a
/// token are left out. Throws Error in one line for encoder–decoders, models without a tokenizer and lines that don't fit
/// (with their number).
std::vector<HeadScore> survey_texts(inference::Session& session, const inference::LanguageModel& model,
                                    std::span<const std::string> lines, const PatternScoring& scoring,
                                    const Progress& progress = {});

}  // namespace headlight::evaluation
