#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/survey/survey_files.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::HeadMetric;

/// Tokens on either side of the cell that are shown.
constexpr std::uint32_t kContext = 24;

/// In the order of HeadMetric.
constexpr std::array<const char*, evaluation::kHeadMetrics> kMeanings = {
    "The mean weight on the token before, over the queries that have one.",
    "The mean weight on earlier occurrences of the same token, over the queries that have one.",
    "The mean weight on what followed an earlier occurrence of the same token, over the queries that have one.",
    "The mean weight on the first token, where idle heads rest.",
    "The mean of each query's largest weight.",
    "Entropy as a share of that of even attention: 1 attends to all keys alike.",
    "Mean entropy of a query's attention, in nats.",
    "The mean number of tokens between query and key."};

/// Tokens of models mark spaces: shown as spaces.
std::string page_token(std::string token) {
  for (const std::string_view mark : {"\u00B7", "\u2581", "\u0120"}) {
    if (token.starts_with(mark)) token.replace(0, mark.size(), " ");
  }
  return token;
}

Json page_example(const ShownExample& shown) {
  const evaluation::HeadExample& example = shown.example;
  const std::uint32_t low = std::min(example.query, example.key), high = std::max(example.query, example.key);
  const std::uint32_t first = low > kContext ? low - kContext : 0;
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(high + kContext + 1, shown.tokens.size()));
  Json tokens = Json::array();
  for (std::uint32_t token = first; token < end; ++token) tokens.push_back(page_token(shown.tokens[token]));
  return {{"value", example.value}, {"weight", example.weight},          {"query", example.query}, {"key", example.key},
          {"first", first},         {"more", end < shown.tokens.size()}, {"tokens", tokens}};
}

Json page_data(const SurveyResults& results) {
  const evaluation::CorpusMeasures& measures = results.measures;
  Json metrics = Json::array();
  for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
    Json heads = Json::array();
    for (std::uint32_t layer = 0; layer < measures.layers; ++layer) {
      for (std::uint32_t head = 0; head < measures.heads; ++head) {
        const std::size_t cell = results.cell(i, layer, head);
        const evaluation::MetricStatistics& found = results.statistics.metrics[cell];
        Json examples = Json::array();
        for (const ShownExample& shown : results.examples(cell)) examples.push_back(page_example(shown));
        heads.push_back({{"mean", found.texts > 0 ? Json(found.mean()) : Json(nullptr)},
                         {"spread", found.spread()},
                         {"texts", found.texts},
                         {"histogram", found.histogram},
                         {"examples", std::move(examples)}});
      }
    }
    metrics.push_back({{"title", evaluation::metric_name(measures.metrics[i])},
                       {"meaning", kMeanings[static_cast<std::size_t>(measures.metrics[i])]},
                       {"top", measures.histogram_top(measures.metrics[i])},
                       {"heads", std::move(heads)}});
  }
  const std::string facts =
      fmt::format("{} \u00b7 {} \u00b7 {} texts, {} tokens", utf8(results.model.path.filename()),
                  utf8(results.corpus.path().filename()), results.statistics.texts, results.statistics.tokens);
  return {{"facts", facts}, {"layers", measures.layers}, {"heads", measures.heads}, {"metrics", std::move(metrics)}};
}

}  // namespace

std::string survey_page(const SurveyResults& results) {
  std::string page(kSurveyReport);
  std::string data;
  for (const char letter : to_text(page_data(results), -1)) {
    if (letter == '<') {
      data += "\\u003c";  // a text of the corpus must not end the script that holds it
    } else {
      data += letter;
    }
  }
  constexpr std::string_view kPlace = "@DATA@";
  return page.replace(page.find(kPlace), kPlace.size(), data);
}

}  // namespace headlight::app
