#include <algorithm>

#include <nlohmann/json.hpp>

#include "app/survey/survey_files.h"
#include "core/atomic_file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::MetricStatistics;
using evaluation::TokenSketch;

/// A number over texts; null without one.
Json number_of(const MetricStatistics& found, double number) { return found.texts > 0 ? Json(number) : Json(nullptr); }

std::string heads_lines(const SurveyResults& results) {
  std::string lines;
  for_each_cell(results, [&](std::size_t metric, std::uint32_t layer, std::uint32_t head, std::size_t cell) {
    const MetricStatistics& found = results.statistics.metrics[cell];
    const evaluation::CorpusMetric& which = results.measures().metrics[metric];
    const Json line = {{"metric", which.name()},
                       {"layer", layer},
                       {"head", head},
                       {"texts", found.texts},
                       {"mean", number_of(found, found.mean())},
                       {"spread", number_of(found, found.spread())},
                       {"least", number_of(found, found.least)},
                       {"most", number_of(found, found.most)},
                       {"histogram", found.histogram},
                       {"histogram_top", results.measures().histogram_top(which)}};
    lines += to_text(line, -1) + "\n";
  });
  return lines;
}

/// `kind`: "place" of the best, "decile" of a sample.
std::string example_lines(const SurveyResults& results, const char* kind) {
  const bool is_sample = std::string_view(kind) == "decile";
  std::string lines;
  for_each_cell(results, [&](std::size_t metric, std::uint32_t layer, std::uint32_t head, std::size_t cell) {
    const std::vector<ShownExample> all = is_sample ? results.samples(cell) : results.examples(cell);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const evaluation::HeadExample& example = all[i].example;
      const ShownText& shown = *all[i].shown;
      const Json line = {{"metric", results.measures().metrics[metric].name()},
                         {"layer", layer},
                         {"head", head},
                         {kind, is_sample ? 10 * i / all.size() : i + 1},
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

Json token_list(const SurveyResults& results, const TokenSketch& sketch, bool is_of_pairs) {
  Json list = Json::array();
  for (const evaluation::TokenCount& count : sketch.heaviest(kShownTokens)) {
    const std::uint64_t query = count.key >> 32, key = count.key & 0xFFFFFFFFU;
    Json entry =
        is_of_pairs
            ? Json{{"query_id", query}, {"query", results.token(query)}, {"key_id", key}, {"key", results.token(key)}}
            : Json{{"id", key}, {"token", results.token(key)}};
    entry["mass"] = count.mass;
    entry["count"] = count.count;
    entry["weight"] = count.mass / static_cast<double>(count.count);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Json head_numbers(const SurveyResults& results, std::uint32_t layer, std::uint32_t head) {
  Json numbers = Json::object();
  for (std::size_t i = 0; i < results.measures().metrics.size(); ++i) {
    const MetricStatistics& found = results.statistics.metrics[results.cell(i, layer, head)];
    numbers[results.measures().metrics[i].name()] = number_of(found, found.mean());
  }
  const evaluation::HeadProfile& found = results.profile(layer, head);
  const auto queries = static_cast<double>(found.queries);
  const auto of_queries = [&](double number) { return found.queries > 0 ? Json(number) : Json(nullptr); };
  numbers["mean weight on itself"] = of_queries(found.self / queries);
  numbers["mean weight on the first token"] = of_queries(found.first / queries);
  numbers["mean distance of all attention"] = of_queries(found.mean_distance());
  return numbers;
}

Json profile_json(const SurveyResults& results, std::uint32_t layer, std::uint32_t head) {
  const evaluation::HeadProfile& found = results.profile(layer, head);
  const double queries = static_cast<double>(std::max<std::uint64_t>(found.queries, 1));
  return {{"layer", layer},
          {"head", head},
          {"queries", found.queries},
          {"first", found.first / queries},
          {"self", found.self / queries},
          {"self_spread", found.self_spread()},
          {"distance", found.mean_distance()},
          {"distance_spread", found.distance_spread()},
          {"query_tokens", token_list(results, found.query_tokens, false)},
          {"query_missed", found.query_tokens.missed()},
          {"key_tokens", token_list(results, found.key_tokens, false)},
          {"key_missed", found.key_tokens.missed()},
          {"pairs", token_list(results, found.pairs, true)},
          {"pair_missed", found.pairs.missed()}};
}

void write_survey_rows(const std::filesystem::path& directory, const SurveyResults& results) {
  write_file_atomically(directory / "heads.jsonl", heads_lines(results));
  write_file_atomically(directory / "examples.jsonl", example_lines(results, "place"));
  write_file_atomically(directory / "samples.jsonl", example_lines(results, "decile"));
  std::string tokens;
  for (std::uint32_t layer = 0; layer < results.measures().layers; ++layer) {
    for (std::uint32_t head = 0; head < results.measures().heads; ++head) {
      tokens += to_text(profile_json(results, layer, head), -1) + "\n";
    }
  }
  write_file_atomically(directory / "tokens.jsonl", tokens);
}

}  // namespace headlight::app
