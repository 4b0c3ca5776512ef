#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/survey/survey_files.h"
#include "core/atomic_file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;

/// A head's numbers: means of metrics over texts, and what it does with all attention.
Json headvis_metrics(const SurveyResults& results, std::uint32_t layer, std::uint32_t head) {
  Json metrics = Json::object();
  for (std::size_t i = 0; i < results.measures().metrics.size(); ++i) {
    const evaluation::MetricStatistics& found = results.statistics.metrics[results.cell(i, layer, head)];
    metrics[std::string(evaluation::metric_name(results.measures().metrics[i]))] =
        found.texts > 0 ? Json(found.mean()) : Json(nullptr);
  }
  const evaluation::HeadProfile& profile = results.statistics.profiles[std::size_t{layer} * results.measures().heads + head];
  const auto queries = static_cast<double>(std::max<std::uint64_t>(profile.queries, 1));
  metrics["self_attention"] = profile.self / queries;
  metrics["first_token"] = profile.first / queries;
  metrics["mean_distance"] = profile.mean_distance();
  return metrics;
}

Json headvis_sequence(const ShownExample& shown, const Json& decile) {
  return {{"decile", decile},
          {"value", shown.example.value},
          {"offset", shown.example.offset},
          {"text", shown.shown->text},
          {"tokens", shown.shown->tokens},
          {"token_ids", shown.shown->ids},
          {"query", shown.example.query},
          {"key", shown.example.key},
          {"weight", shown.example.weight}};
}

/// By metric: the best first, then the sample from its highest decile to its lowest.
Json headvis_sequences(const SurveyResults& results, std::uint32_t layer, std::uint32_t head) {
  Json sequences = Json::object();
  for (std::size_t i = 0; i < results.measures().metrics.size(); ++i) {
    const std::size_t cell = results.cell(i, layer, head);
    Json of_metric = Json::array();
    for (const ShownExample& best : results.examples(cell)) of_metric.push_back(headvis_sequence(best, nullptr));
    const std::vector<ShownExample> samples = results.samples(cell);
    for (std::size_t at = samples.size(); at-- > 0;) {
      of_metric.push_back(headvis_sequence(samples[at], 10 * at / samples.size()));
    }
    sequences[std::string(evaluation::metric_name(results.measures().metrics[i]))] = std::move(of_metric);
  }
  return sequences;
}

}  // namespace

void write_headvis(const std::filesystem::path& directory, const SurveyResults& results) {
  make_directories(directory / "heads");
  Json scatter = Json::array(), metrics = Json::array();
  for (std::uint32_t layer = 0; layer < results.measures().layers; ++layer) {
    for (std::uint32_t head = 0; head < results.measures().heads; ++head) {
      const std::string name = fmt::format("L{}H{}", layer, head);
      const Json numbers = headvis_metrics(results, layer, head);
      scatter.push_back({{"id", name}, {"layer", layer}, {"head", head}, {"metrics", numbers}});
      Json file = {{"id", name}, {"metrics", numbers}, {"sequences", headvis_sequences(results, layer, head)}};
      file.update(profile_json(results, layer, head));
      write_file_atomically(directory / "heads" / (name + ".json"), to_text(file, -1) + "\n");
    }
  }
  for (const auto& [name, number] : scatter.at(0).at("metrics").items()) metrics.push_back(name);
  write_file_atomically(directory / "scatter_data.json", to_text(scatter, -1) + "\n");
  const Json config = {{"model", utf8(results.model().path.filename())},
                       {"dataset", utf8(results.survey.corpus->path().filename())},
                       {"n_layers", results.measures().layers},
                       {"n_heads", results.measures().heads},
                       {"metrics", std::move(metrics)},
                       {"n_sequences", results.statistics.texts},
                       {"n_tokens", results.statistics.tokens},
                       {"program", "headlight " HEADLIGHT_VERSION}};
  write_file_atomically(directory / "config.json", to_text(config) + "\n");
}

}  // namespace headlight::app
