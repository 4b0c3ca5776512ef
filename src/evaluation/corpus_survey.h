#pragma once

#include "evaluation/corpus_statistics.h"
#include "inference/language_model.h"
#include "inference/session.h"

namespace headlight::evaluation {

/// A line of a corpus.
struct CorpusText {
  std::uint64_t offset = 0;  ///< its first byte in the file
  std::string text = {};
  std::string target = {};  ///< what the decoder reads, where texts are pairs
};

/// The measures of a model, `most_tokens` cut to its positions. Of an encoder–decoder those of its encoder, which reads
/// texts by itself; with `has_targets`, of all its heads on pairs. Throws Error for a model without a tokenizer.
CorpusMeasures corpus_measures(const inference::LanguageModel& model, std::vector<CorpusMetric> metrics,
                               std::uint32_t most_tokens, std::uint32_t top, std::uint32_t samples = 0,
                               bool has_targets = false);
/// A text as it is measured: text_ids() (head_maps.h), or as the model's template writes it; uncut. None
/// where it has no token of its own, or the template refuses it.
std::vector<std::uint32_t> corpus_ids(const inference::LanguageModel& model, const CorpusMeasures& measures,
                                      const std::string& text);

/// The token ids of the texts to measure.
struct CorpusRows {
  std::vector<std::vector<std::uint32_t>> ids;      ///< of each row
  std::vector<std::vector<std::uint32_t>> targets;  ///< of pairs what the decoder reads, its start token first; else empty
  std::vector<std::uint64_t> offsets;               ///< of each row's first text
  std::uint64_t cut = 0, skipped = 0;
};
/// A row for each text as corpus_ids() gives it, cut to `most_tokens`. Packed: a row has as many texts as fit one behind the
/// other, each with its begin token; the last one is cut, and the next row begins with the text after it. Of pairs both
/// texts are cut, and one without a target is skipped.
CorpusRows corpus_rows(const inference::LanguageModel& model, const CorpusMeasures& measures,
                       std::span<const CorpusText> texts);

/// Measures every head on these texts, each by itself as corpus_ids() gives it. Cross-attention has no metric of a pattern,
/// no distance and none of the user's own metrics, since positions in two texts don't compare. Longer texts are cut and
/// counted, and texts without a token of their own skipped; a head isn't measured on texts over which its attention isn't a
/// number, and these are counted. `activations`: gets those that the measures name. Equal texts give equal bits on equal
/// devices, whatever was measured before.
CorpusStatistics survey_corpus(inference::Session& session, const inference::LanguageModel& model,
                               const CorpusMeasures& measures, std::span<const CorpusText> texts,
                               ShardActivations* activations = nullptr);

}  // namespace headlight::evaluation
