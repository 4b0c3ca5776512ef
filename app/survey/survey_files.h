#pragma once

#include "app/survey/corpus_file.h"
#include "evaluation/corpus_statistics.h"
#include "inference/language_model.h"

namespace headlight::app {

/// An example with its text, as it is shown.
struct ShownExample {
  evaluation::HeadExample example;
  std::string text;                 ///< the corpus' line
  std::vector<std::uint32_t> ids;   ///< of the tokens that were measured
  std::vector<std::string> tokens;  ///< their texts
};

/// The version of survey.json, which says what the names of metrics mean. 1, or none: previous, duplicate and induction are
/// shares of all attention (PatternMeasure::Mul), evenness is called relative, and the mean of no text is 0.
inline constexpr std::uint64_t kSurveyVersion = 2;

/// A survey's results.
struct SurveyResults {
  const evaluation::CorpusMeasures& measures;
  const evaluation::CorpusStatistics& statistics;
  const CorpusFile& corpus;
  const inference::LanguageModel& model;
  std::string device;       ///< names of those of rank 0
  double seconds = 0.0;     ///< of this run
  std::uint64_t texts = 0;  ///< of this run
  int ranks = 1;

  std::size_t cell(std::size_t metric, std::uint32_t layer, std::uint32_t head) const {
    return (metric * measures.layers + layer) * measures.heads + head;
  }
  /// Reads the examples of one head and metric from the corpus.
  std::vector<ShownExample> examples(std::size_t cell) const;
};

/// Writes heads.jsonl, examples.jsonl, mean.npy, spread.npy, histogram.npy, survey.json and report.html; docs/SURVEYS.md
/// says what is in them. Throws Error naming the file that can't be written.
void write_survey_files(const std::filesystem::path& directory, const SurveyResults& results);

/// The report: one page without any other file.
std::string survey_page(const SurveyResults& results);

}  // namespace headlight::app
