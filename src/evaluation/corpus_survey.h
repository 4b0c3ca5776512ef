#pragma once

#include "evaluation/corpus_statistics.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// A line of a corpus.
struct CorpusText {
  std::uint64_t offset = 0;  ///< its first byte in the file
  std::string text = {};
};

/// The measures of a model: `most_tokens` is cut to its positions. Throws Error for models whose heads can't be measured: an
/// encoder–decoder, or one without a tokenizer.
CorpusMeasures corpus_measures(const inference::LanguageModel& model, std::vector<HeadMetric> metrics,
                               std::uint32_t most_tokens, std::uint32_t top);
/// A text as it is measured: text_ids() (head_maps.h), or as the model's template writes it; uncut. None
/// where it has no token, or the template refuses it.
std::vector<std::uint32_t> corpus_ids(const inference::LanguageModel& model, const CorpusMeasures& measures,
                                      const std::string& text);

/// Measures every head on these texts, each by itself as corpus_ids() gives it. Longer texts are cut and
/// counted, and texts without a token skipped; a head isn't measured on texts over which its attention isn't a number, and
/// these are counted. Equal texts give equal bits on equal devices, whatever was measured before.
CorpusStatistics survey_corpus(inference::Session& session, const inference::LanguageModel& model,
                               const CorpusMeasures& measures, std::span<const CorpusText> texts);

}  // namespace headlight::evaluation
