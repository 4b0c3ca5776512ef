#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/data/survey/survey_files.h"
#include "core/file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::MetricStatistics;
using evaluation::TokenSketch;

/// Returns a number over texts; null without one.
Json number_of(const MetricStatistics& found, double number) { return found.texts > 0 ? Json(number) : Json(nullptr); }

/// Returns the beginning of a line of a metric and a head.
Json cell_json(const SurveyResults& results, std::size_t cell) {
  Json line = {{"metric", results.measures().metrics[cell / results.layout().count()].name()}};
  line.update(place_json(results, cell % results.layout().count()));
  return line;
}

std::string heads_lines(const SurveyResults& results) {
  std::string lines;
  for (std::size_t cell = 0; cell < results.statistics.metrics.size(); ++cell) {
    const MetricStatistics& found = results.statistics.metrics[cell];
    const evaluation::CorpusMetric& which = results.measures().metrics[cell / results.layout().count()];
    Json line = cell_json(results, cell);
    line.update(Json{{"texts", found.texts},
                     {"mean", number_of(found, found.mean())},
                     {"spread", number_of(found, found.spread())},
                     {"least", number_of(found, found.least)},
                     {"most", number_of(found, found.most)},
                     {"histogram", found.histogram},
                     {"histogram_top", results.measures().histogram_top(which)}});
    lines += to_text(line, -1) + "\n";
  }
  return lines;
}

/// Returns lines of examples. `kind`: "place" of the best, "decile" of a sample.
std::string example_lines(const SurveyResults& results, const char* kind) {
  const bool is_sample = std::string_view(kind) == "decile";
  std::string lines;
  for (std::size_t cell = 0; cell < results.statistics.metrics.size(); ++cell) {
    const model::BlockKind of = results.layout().at(cell % results.layout().count()).block.kind;
    const std::vector<ShownExample> all = is_sample ? results.samples(cell) : results.examples(cell);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const evaluation::HeadExample& example = all[i].example;
      const ShownPair& shown = *all[i].shown;
      Json line = cell_json(results, cell);
      line.update(Json{{kind, is_sample ? 10 * i / all.size() : i + 1},
                       {"value", example.value},
                       {"weight", example.weight},
                       {"query", example.query},
                       {"key", example.key},
                       {"query_token", shown.queries(of).tokens.at(example.query)},
                       {"key_token", shown.keys(of).tokens.at(example.key)},
                       {"offset", example.offset},
                       {"text", shown.source.text},
                       {"ids", shown.source.ids}});
      if (results.layout().has_kinds()) line.update(Json{{"target", shown.target.text}, {"target_ids", shown.target.ids}});
      lines += to_text(line, -1) + "\n";
    }
  }
  return lines;
}

/// Lists tokens, which are a target's where `keys_target`. `queries_target`: pairs are listed, whose queries are a target's
/// where it is true; none: no pairs are counted.
Json token_list(const SurveyResults& results, const TokenSketch& sketch, bool keys_target,
                std::optional<bool> queries_target = {}) {
  Json list = Json::array();
  for (const evaluation::TokenCount& count : sketch.heaviest(kShownTokens)) {
    const std::uint64_t query = count.key >> 32, key = count.key & 0xFFFFFFFFU;
    const std::string token = results.token(key, keys_target);
    Json entry =
        queries_target
            ? Json{{"query_id", query}, {"query", results.token(query, *queries_target)}, {"key_id", key}, {"key", token}}
            : Json{{"id", key}, {"token", token}};
    entry["mass"] = count.mass;
    entry["count"] = count.count;
    entry["weight"] = count.mass / static_cast<double>(count.count);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Json layout_json(const evaluation::HeadLayout& layout, const char* layers, const char* heads) {
  Json made = {{layers, layout.layers}, {heads, layout.heads}};
  if (layout.has_kinds()) made.update(Json{{kDecoderLayers, layout.decoder_layers}, {kDecoderHeads, layout.decoder_heads}});
  return made;
}

Json place_json(const SurveyResults& results, std::size_t place) {
  const evaluation::HeadRef of = results.layout().at(place);
  Json made = Json::object();
  if (results.layout().has_kinds()) made["kind"] = model::to_string(of.block.kind);
  made.update(Json{{"layer", of.block.layer.value}, {"head", of.head}});
  return made;
}

Json head_numbers(const SurveyResults& results, std::size_t place) {
  Json numbers = Json::object();
  for (std::size_t i = 0; i < results.measures().metrics.size(); ++i) {
    const MetricStatistics& found = results.statistics.metrics[results.cell(i, place)];
    numbers[results.measures().metrics[i].name()] = number_of(found, found.mean());
  }
  const evaluation::HeadProfile& found = results.statistics.profiles[place];
  const auto queries = static_cast<double>(found.queries);
  const auto number = [](bool is_known, double of) { return is_known ? Json(of) : Json(nullptr); };
  numbers["mean weight on itself"] = number(found.has_distances(), found.self / queries);
  numbers["mean weight on the first token"] = number(found.queries > 0, found.first / queries);
  numbers["mean distance of all attention"] = number(found.has_distances(), found.mean_distance());
  return numbers;
}

Json profile_json(const SurveyResults& results, std::size_t place) {
  const evaluation::HeadProfile& found = results.statistics.profiles[place];
  const model::BlockKind kind = results.layout().at(place).block.kind;
  const bool queries_target = kind != model::BlockKind::EncoderSelf, keys_target = kind == model::BlockKind::DecoderSelf;
  const double queries = static_cast<double>(std::max<std::uint64_t>(found.queries, 1));
  const auto of_one_text = [&](double number) { return kind == model::BlockKind::Cross ? Json(nullptr) : Json(number); };
  Json made = place_json(results, place);
  made.update(Json{{"queries", found.queries},
                   {"first", found.first / queries},
                   {"self", of_one_text(found.self / queries)},
                   {"self_spread", of_one_text(found.self_spread())},
                   {"distance", of_one_text(found.mean_distance())},
                   {"distance_spread", of_one_text(found.distance_spread())},
                   {"query_tokens", token_list(results, found.query_tokens, queries_target)},
                   {"query_missed", found.query_tokens.missed()},
                   {"key_tokens", token_list(results, found.key_tokens, keys_target)},
                   {"key_missed", found.key_tokens.missed()},
                   {"pairs", token_list(results, found.pairs, keys_target, queries_target)},
                   {"pair_missed", found.pairs.missed()}});
  return made;
}

void write_survey_rows(const std::filesystem::path& directory, const SurveyResults& results) {
  write_file_atomically(directory / "heads.jsonl", heads_lines(results));
  write_file_atomically(directory / "examples.jsonl", example_lines(results, "place"));
  write_file_atomically(directory / "samples.jsonl", example_lines(results, "decile"));
  std::string tokens;
  for (std::size_t place = 0; place < results.layout().count(); ++place) {
    tokens += to_text(profile_json(results, place), -1) + "\n";
  }
  write_file_atomically(directory / "tokens.jsonl", tokens);
}

}  // namespace headlight::app
