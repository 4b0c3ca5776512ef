#include "app/survey/survey_files.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "app/state/session_file.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"
#include "evaluation/corpus_survey.h"
#include "evaluation/head_maps.h"
#include "files/npy.h"
#include "inference/prompt.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::HeadMetric;
using evaluation::MetricStatistics;

/// Calls `use(metric, layer, head, cell)` for all, in the order of files.
template <typename Use>
void for_each_cell(const SurveyResults& results, Use&& use) {
  for (std::size_t metric = 0; metric < results.measures.metrics.size(); ++metric) {
    for (std::uint32_t layer = 0; layer < results.measures.layers; ++layer) {
      for (std::uint32_t head = 0; head < results.measures.heads; ++head) {
        use(metric, layer, head, results.cell(metric, layer, head));
      }
    }
  }
}

/// A number over texts; null without one.
Json number_of(const MetricStatistics& found, double number) { return found.texts > 0 ? Json(number) : Json(nullptr); }

std::string heads_lines(const SurveyResults& results) {
  std::string lines;
  for_each_cell(results, [&](std::size_t metric, std::uint32_t layer, std::uint32_t head, std::size_t cell) {
    const MetricStatistics& found = results.statistics.metrics[cell];
    const HeadMetric which = results.measures.metrics[metric];
    const Json line = {{"metric", evaluation::metric_name(which)},
                       {"layer", layer},
                       {"head", head},
                       {"texts", found.texts},
                       {"mean", number_of(found, found.mean())},
                       {"spread", number_of(found, found.spread())},
                       {"least", number_of(found, found.least)},
                       {"most", number_of(found, found.most)},
                       {"histogram", found.histogram},
                       {"histogram_top", results.measures.histogram_top(which)}};
    lines += to_text(line, -1) + "\n";
  });
  return lines;
}

std::string example_lines(const SurveyResults& results) {
  std::string lines;
  for_each_cell(results, [&](std::size_t metric, std::uint32_t layer, std::uint32_t head, std::size_t cell) {
    std::size_t place = 0;
    for (const ShownExample& shown : results.examples(cell)) {
      const evaluation::HeadExample& example = shown.example;
      const Json line = {{"metric", evaluation::metric_name(results.measures.metrics[metric])},
                         {"layer", layer},
                         {"head", head},
                         {"place", ++place},
                         {"value", example.value},
                         {"weight", example.weight},
                         {"query", example.query},
                         {"key", example.key},
                         {"query_token", shown.tokens.at(example.query)},
                         {"key_token", shown.tokens.at(example.key)},
                         {"offset", example.offset},
                         {"text", shown.text},
                         {"ids", shown.ids}};
      lines += to_text(line, -1) + "\n";
    }
  });
  return lines;
}

void write_arrays(const std::filesystem::path& directory, const SurveyResults& results) {
  const auto metrics = static_cast<std::uint32_t>(results.measures.metrics.size());
  const std::uint32_t layers = results.measures.layers, heads = results.measures.heads;
  Tensor mean(Shape{metrics, layers, heads}), spread(Shape{metrics, layers, heads});
  Tensor histogram(Shape{metrics, layers, heads, evaluation::kHistogramBins});
  for_each_cell(results, [&](std::size_t, std::uint32_t, std::uint32_t, std::size_t cell) {
    const MetricStatistics& found = results.statistics.metrics[cell];
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    mean.values[cell] = found.texts > 0 ? static_cast<float>(found.mean()) : kNone;
    spread.values[cell] = found.texts > 0 ? static_cast<float>(found.spread()) : kNone;
    for (std::size_t bin = 0; bin < evaluation::kHistogramBins; ++bin) {
      histogram.values[cell * evaluation::kHistogramBins + bin] = static_cast<float>(found.histogram[bin]);
    }
  });
  write_file_atomically(directory / "mean.npy", files::encode_npy(mean));
  write_file_atomically(directory / "spread.npy", files::encode_npy(spread));
  write_file_atomically(directory / "histogram.npy", files::encode_npy(histogram));
}

std::string description(const SurveyResults& results, const std::filesystem::path& directory) {
  const evaluation::CorpusStatistics& found = results.statistics;
  Json metrics = Json::array();
  for (const HeadMetric metric : results.measures.metrics) metrics.push_back(evaluation::metric_name(metric));
  const double outside = found.busy_seconds > 0.0 ? 1.0 - found.device_seconds / found.busy_seconds : 0.0;
  const Json json = {
      {"program", "headlight " HEADLIGHT_VERSION},
      {"version", kSurveyVersion},
      {"device", results.device},
      {"model", portable_path(utf8(results.model.path), directory)},
      {"corpus", portable_path(utf8(results.corpus.path()), directory)},
      {"corpus_bytes", results.corpus.bytes()},
      {"metrics", metrics},
      {"layers", results.measures.layers},
      {"heads", results.measures.heads},
      {"most_tokens", results.measures.most_tokens},
      {"chat", results.measures.is_chat},
      {"texts", found.texts},
      {"tokens", found.tokens},
      {"cut_texts", found.cut},
      {"odd_texts", found.odd},
      {"skipped_lines", found.skipped},
      {"ranks", results.ranks},
      {"seconds", results.seconds},
      {"texts_per_second", results.seconds > 0.0 ? static_cast<double>(results.texts) / results.seconds : 0.0},
      {"share_outside_device", outside}};
  return to_text(json) + "\n";
}

}  // namespace

std::vector<ShownExample> SurveyResults::examples(std::size_t cell) const {
  std::vector<ShownExample> shown;
  for (const evaluation::HeadExample& example : statistics.examples[cell].best()) {
    std::string text = corpus.text_at(example.offset);
    std::vector<std::uint32_t> ids = evaluation::corpus_ids(model, measures, text);
    if (ids.size() > measures.most_tokens) ids.resize(measures.most_tokens);
    if (std::max(example.query, example.key) >= ids.size()) {
      throw Error("the text at byte {} of {} isn't the one that was measured; measure again with --restart", example.offset,
                  utf8(corpus.path()));
    }
    inference::PromptText prompt;
    prompt.ids.push_back(ids);
    shown.push_back({.example = example,
                     .text = std::move(text),
                     .ids = std::move(ids),
                     .tokens = inference::make_prompt(model, prompt).input.source.texts.at(0)});
  }
  return shown;
}

void write_survey_files(const std::filesystem::path& directory, const SurveyResults& results) {
  write_file_atomically(directory / "heads.jsonl", heads_lines(results));
  write_file_atomically(directory / "examples.jsonl", example_lines(results));
  write_arrays(directory, results);
  write_file_atomically(directory / "report.html", survey_page(results));
  write_file_atomically(directory / "survey.json", description(results, directory));
}

}  // namespace headlight::app
