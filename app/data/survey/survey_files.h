#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "app/data/survey/survey_choices.h"

namespace headlight::app {

/// A text of the corpus as it was measured, or a row of packed ones.
struct ShownText {
  std::string text;                 ///< the corpus' line
  std::vector<std::uint32_t> ids;   ///< of the tokens that were measured
  std::vector<std::string> tokens;  ///< their texts
};

/// A shown text; of a pair also its target as the decoder read it, which is empty elsewhere.
struct ShownPair {
  ShownText source, target;

  const ShownText& queries(model::BlockKind kind) const { return kind == model::BlockKind::EncoderSelf ? source : target; }
  const ShownText& keys(model::BlockKind kind) const { return kind == model::BlockKind::DecoderSelf ? target : source; }
};

/// An example with its text, as it is shown.
struct ShownExample {
  evaluation::HeadExample example;
  std::shared_ptr<const ShownPair> shown;
};

/// The version of survey.json, which says what the names of metrics mean. 1, or none: previous, duplicate and induction are
/// shares of all attention (PatternMeasure::Mul), evenness is called relative, and the mean of no text is 0. 3 is of heads
/// of several kinds, which a program that reads 2 would take for one another; of one kind 2 is written.
inline constexpr std::uint64_t kSurveyVersion = 3, kOneKindVersion = 2;
/// Tokens and pairs of a head in files and pages.
inline constexpr std::size_t kShownTokens = 50;

/// A survey's results. Used by one thread.
struct SurveyResults {
  const OpenedSurvey& survey;
  const evaluation::CorpusStatistics& statistics;
  std::string device = {};  ///< names of those of rank 0
  double seconds = 0.0;     ///< of this run
  std::uint64_t texts = 0;  ///< of this run
  int ranks = 1;
  std::string shard = {};                                                       ///< "2/8": of a part of the corpus
  mutable std::map<std::uint64_t, std::shared_ptr<const ShownPair>> read = {};  ///< texts that were read last, by offset

  const evaluation::CorpusMeasures& measures() const { return survey.identity.measures; }
  const inference::LanguageModel& model() const { return *survey.model; }
  const evaluation::HeadLayout& layout() const { return measures().layout; }
  std::size_t cell(std::size_t metric, std::size_t place) const { return metric * layout().count() + place; }
  /// Reads the texts of the best examples of one head and metric from the corpus.
  std::vector<ShownExample> examples(std::size_t cell) const;
  /// Reads the texts of the head's sample, the lowest value first: the i-th of n is in decile ⌊10 i ⁄ n⌋.
  std::vector<ShownExample> samples(std::size_t cell) const;
  /// Returns a token as it is shown, of the source or of the target.
  std::string token(std::uint64_t id, bool is_target) const;

 private:
  std::shared_ptr<const ShownPair> text_at(std::uint64_t offset) const;
  std::vector<ShownExample> shown(const std::vector<evaluation::HeadExample>& examples, std::size_t place) const;
};

/// Writes the files that docs/SURVEY_FILES.md describes. Throws Error naming the file that can't be written.
void write_survey_files(const std::filesystem::path& directory, const SurveyResults& results);

/// Writes heads.jsonl, examples.jsonl, samples.jsonl and tokens.jsonl.
void write_survey_rows(const std::filesystem::path& directory, const SurveyResults& results);
/// Returns the numbers of layers and heads by these names, and where there are several kinds those of the decoder.
nlohmann::ordered_json layout_json(const evaluation::HeadLayout& layout, const char* layers, const char* heads);
inline constexpr const char *kDecoderLayers = "decoder_layers", *kDecoderHeads = "decoder_heads";
/// Returns a head's layer and head, after its kind where there are several.
nlohmann::ordered_json place_json(const SurveyResults& results, std::size_t place);
/// Returns a head's number for each metric, the mean over texts or null, then of all attention: weight on itself and
/// on the first token, distance.
nlohmann::ordered_json head_numbers(const SurveyResults& results, std::size_t place);
/// Returns what a head attends to, as in tokens.jsonl.
nlohmann::ordered_json profile_json(const SurveyResults& results, std::size_t place);
/// Writes the .npy files; returns their shapes for survey.json.
nlohmann::ordered_json write_survey_arrays(const std::filesystem::path& directory, const SurveyResults& results);

extern const std::string_view kSurveyReport;  ///< report.html around its data, see cmake/Embed.cmake
/// Returns the report: one page without any other file.
std::string survey_page(const SurveyResults& results);
/// Writes index.html with all heads, and a page of each, heads/L0H0.html or heads/cross_L0H0.html. No page needs a server,
/// or a file beyond these.
void write_survey_site(const std::filesystem::path& directory, const SurveyResults& results);
/// Writes the folder that HeadVis shows.
void write_headvis(const std::filesystem::path& directory, const SurveyResults& results);

}  // namespace headlight::app
