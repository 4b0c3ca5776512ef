#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/survey/survey_files.h"
#include "core/atomic_file.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::HeadMetric;

/// Tokens on either side of the cell that are shown.
constexpr std::uint32_t kContext = 24;
constexpr std::size_t kPageBest = 10, kPagePerDecile = 3;

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

/// The data of a page. Examples refer to the texts that are shown by their number, so that one that many heads have is there
/// once.
class PageData {
 public:
  explicit PageData(const SurveyResults& results) : results_(results) {
    const evaluation::CorpusMeasures& measures = results.measures();
    Json metrics = Json::array(), others = Json::array();
    for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
      Json means = Json::array(), spreads = Json::array(), texts = Json::array();
      for (std::size_t head = 0; head < results.statistics.profiles.size(); ++head) {
        const evaluation::MetricStatistics& found =
            results.statistics.metrics[i * results.statistics.profiles.size() + head];
        means.push_back(found.texts > 0 ? Json(found.mean()) : Json(nullptr));
        spreads.push_back(found.spread());
        texts.push_back(found.texts);
      }
      metrics.push_back({{"title", evaluation::metric_name(measures.metrics[i])},
                         {"meaning", kMeanings[static_cast<std::size_t>(measures.metrics[i])]},
                         {"top", measures.histogram_top(measures.metrics[i])},
                         {"mean", std::move(means)},
                         {"spread", std::move(spreads)},
                         {"texts", std::move(texts)}});
    }
    Json self = Json::array(), first = Json::array(), distance = Json::array();
    for (const evaluation::HeadProfile& found : results.statistics.profiles) {
      const bool is_there = found.queries > 0;
      const auto queries = static_cast<double>(found.queries);
      self.push_back(is_there ? Json(found.self / queries) : Json(nullptr));
      first.push_back(is_there ? Json(found.first / queries) : Json(nullptr));
      distance.push_back(is_there ? Json(found.mean_distance()) : Json(nullptr));
    }
    others = {{{"title", "weight on itself"}, {"mean", std::move(self)}},
              {{"title", "weight on the first token"}, {"mean", std::move(first)}},
              {{"title", "distance over all attention"}, {"mean", std::move(distance)}}};
    Json bins = Json::array();
    for (std::uint32_t bin = 0; bin < evaluation::kPlaceBins; ++bin) bins.push_back(evaluation::place_bin_end(bin));
    const std::string facts =
        fmt::format("{} \u00b7 {} \u00b7 {} texts, {} tokens", utf8(results.model().path.filename()),
                    utf8(results.survey.corpus->path().filename()), results.statistics.texts, results.statistics.tokens);
    data_ = {{"facts", facts},
             {"layers", measures.layers},
             {"heads", measures.heads},
             {"metrics", std::move(metrics)},
             {"others", std::move(others)},
             {"bins", std::move(bins)},
             {"details", Json::object()}};
  }

  void add_head(std::uint32_t layer, std::uint32_t head) {
    const evaluation::CorpusMeasures& measures = results_.measures();
    const std::size_t place = std::size_t{layer} * measures.heads + head;
    const evaluation::HeadProfile& found = results_.statistics.profiles[place];
    Json metrics = Json::array();
    for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
      const std::size_t cell = results_.cell(i, layer, head);
      Json best = Json::array(), deciles = Json::array();
      for (const ShownExample& example : results_.examples(cell)) {
        if (best.size() < kPageBest) best.push_back(page_example(example));
      }
      // Of each decile some from its middle.
      const std::vector<ShownExample> samples = results_.samples(cell);
      std::array<std::vector<const ShownExample*>, 10> by_decile;
      for (std::size_t at = 0; at < samples.size(); ++at) by_decile[10 * at / samples.size()].push_back(&samples[at]);
      for (const auto& decile : by_decile) {
        Json some = Json::array();
        const std::size_t first = decile.size() > kPagePerDecile ? (decile.size() - kPagePerDecile) / 2 : 0;
        for (std::size_t at = first; at < std::min(first + kPagePerDecile, decile.size()); ++at) {
          some.push_back(page_example(*decile[at]));
        }
        deciles.push_back(std::move(some));
      }
      metrics.push_back({{"histogram", results_.statistics.metrics[cell].histogram},
                         {"best", std::move(best)},
                         {"deciles", std::move(deciles)}});
    }
    Json distance = Json::array(), positions = Json::array(), map = Json::array();
    const double all = std::max(found.all(), 1e-300);
    for (std::size_t bin = 0; bin < evaluation::kPlaceBins; ++bin) {
      distance.push_back((found.before[bin] + found.after[bin]) / all);
      positions.push_back(found.positions[bin] / all);
    }
    std::size_t side = 0;
    while (side < evaluation::kMapTokens && found.texts[side] > 0) ++side;
    for (std::size_t query = 0; query < side; ++query) {
      for (std::size_t key = 0; key < side; ++key) {
        const double mean =
            found.map[query * evaluation::kMapTokens + key] / static_cast<double>(found.texts[std::max(query, key)]);
        map.push_back(std::round(mean * 1e4) / 1e4);
      }
    }
    Json detail = profile_json(results_, layer, head);
    for (const char* list : {"query_tokens", "key_tokens"}) {
      for (Json& entry : detail[list]) entry["token"] = page_token(entry["token"].get<std::string>());
    }
    for (Json& entry : detail["pairs"]) {
      for (const char* side_of : {"query", "key"}) entry[side_of] = page_token(entry[side_of].get<std::string>());
    }
    detail.update(Json{{"metrics", std::move(metrics)},
                       {"distances", std::move(distance)},
                       {"positions", std::move(positions)},
                       {"side", side},
                       {"map", std::move(map)}});
    data_["details"][std::to_string(place)] = std::move(detail);
  }

  /// `pages`: what is before the name of another head's page, L0H0.html; none where all heads are on this page.
  std::string page(const char* pages = nullptr) {
    data_["texts"] = std::move(texts_);
    if (pages != nullptr) data_["pages"] = pages;
    std::string page(kSurveyReport), data;
    for (const char letter : to_text(data_, -1)) {
      if (letter == '<') {
        data += "\\u003c";  // a text of the corpus must not end the script that holds it
      } else {
        data += letter;
      }
    }
    constexpr std::string_view kPlace = "@DATA@";
    return page.replace(page.find(kPlace), kPlace.size(), data);
  }

 private:
  /// Text, the place of its first token that is shown, value, weight, query, key.
  Json page_example(const ShownExample& shown) {
    const evaluation::HeadExample& example = shown.example;
    const std::vector<std::string>& all = shown.shown->tokens;
    const std::uint32_t low = std::min(example.query, example.key), high = std::max(example.query, example.key);
    const std::uint32_t first = low > kContext ? low - kContext : 0;
    const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(high + kContext + 1, all.size()));
    const auto [known, is_new] = numbers_.try_emplace(std::tuple(example.offset, first, end), texts_.size());
    if (is_new) {
      Json tokens = Json::array();
      for (std::uint32_t token = first; token < end; ++token) tokens.push_back(page_token(all[token]));
      texts_.push_back({{"tokens", std::move(tokens)}, {"more", end < all.size()}});
    }
    return {known->second, first, example.value, example.weight, example.query, example.key};
  }

  const SurveyResults& results_;
  Json data_, texts_ = Json::array();
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::size_t> numbers_;
};

}  // namespace

std::string survey_page(const SurveyResults& results) {
  PageData data(results);
  for (std::uint32_t layer = 0; layer < results.measures().layers; ++layer) {
    for (std::uint32_t head = 0; head < results.measures().heads; ++head) data.add_head(layer, head);
  }
  return data.page();
}

void write_survey_site(const std::filesystem::path& directory, const SurveyResults& results) {
  make_directories(directory / "heads");
  write_file_atomically(directory / "index.html", PageData(results).page("heads/"));
  for (std::uint32_t layer = 0; layer < results.measures().layers; ++layer) {
    for (std::uint32_t head = 0; head < results.measures().heads; ++head) {
      PageData data(results);
      data.add_head(layer, head);
      write_file_atomically(directory / "heads" / fmt::format("L{}H{}.html", layer, head), data.page(""));
    }
  }
}

}  // namespace headlight::app
