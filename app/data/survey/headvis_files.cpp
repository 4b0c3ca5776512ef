#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/data/survey/survey_files.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;

Json headvis_sequence(const ShownExample& shown, const Json& decile) {
  Json sequence = {{"decile", decile},
                   {"value", shown.example.value},
                   {"offset", shown.example.offset},
                   {"text", shown.shown->source.text},
                   {"tokens", shown.shown->source.tokens},
                   {"token_ids", shown.shown->source.ids},
                   {"query", shown.example.query},
                   {"key", shown.example.key},
                   {"weight", shown.example.weight}};
  const ShownText& target = shown.shown->target;
  if (!target.ids.empty()) {
    sequence.update(Json{{"target", target.text}, {"target_tokens", target.tokens}, {"target_token_ids", target.ids}});
  }
  return sequence;
}

/// Returns a head's sequences by metric: the best first, then the sample from its highest decile to its lowest.
Json headvis_sequences(const SurveyResults& results, std::size_t place) {
  Json sequences = Json::object();
  for (std::size_t i = 0; i < results.measures().metrics.size(); ++i) {
    const std::size_t cell = results.cell(i, place);
    Json of_metric = Json::array();
    for (const ShownExample& best : results.examples(cell)) of_metric.push_back(headvis_sequence(best, nullptr));
    const std::vector<ShownExample> samples = results.samples(cell);
    for (std::size_t at = samples.size(); at-- > 0;) {
      of_metric.push_back(headvis_sequence(samples[at], 10 * at / samples.size()));
    }
    sequences[results.measures().metrics[i].name()] = std::move(of_metric);
  }
  return sequences;
}

}  // namespace

void write_headvis(const std::filesystem::path& directory, const SurveyResults& results) {
  make_directories(directory / "heads");
  Json scatter = Json::array(), metrics = Json::array();
  for (std::size_t place = 0; place < results.layout().count(); ++place) {
    const std::string name = results.layout().name(place, '_');
    const Json numbers = head_numbers(results, place);
    Json head = {{"id", name}};
    head.update(place_json(results, place));
    head["metrics"] = numbers;
    scatter.push_back(std::move(head));
    Json file = {{"id", name}, {"metrics", numbers}, {"sequences", headvis_sequences(results, place)}};
    file.update(profile_json(results, place));
    write_file_atomically(directory / "heads" / (name + ".json"), to_text(file, -1) + "\n");
  }
  for (const auto& [name, number] : scatter.at(0).at("metrics").items()) metrics.push_back(name);
  write_file_atomically(directory / "scatter_data.json", to_text(scatter, -1) + "\n");
  Json config = {{"model", utf8(results.model().path.filename())},
                 {"dataset", utf8(results.survey.corpus->path().filename())}};
  config.update(layout_json(results.layout(), "n_layers", "n_heads"));
  config.update(Json{{"metrics", std::move(metrics)},
                     {"n_sequences", results.statistics.texts},
                     {"n_tokens", results.statistics.tokens},
                     {"program", "headlight " HEADLIGHT_VERSION}});
  write_file_atomically(directory / "config.json", to_text(config) + "\n");
}

}  // namespace headlight::app
