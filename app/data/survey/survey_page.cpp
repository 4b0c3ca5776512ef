#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/data/survey/survey_files.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

using Json = nlohmann::ordered_json;

/// Tokens on either side of the cell that are shown.
constexpr std::uint32_t kContext = 24;
constexpr std::size_t kPageBest = 10, kPagePerDecile = 3;

/// The meanings are in the order of HeadMetric.
constexpr std::array<const char*, evaluation::kHeadMetrics> kMeanings = {
    "The mean weight on the token before, over the queries that have one.",
    "The mean weight on earlier occurrences of the same token, over the queries that have one.",
    "The mean weight on what followed an earlier occurrence of the same token, over the queries that have one.",
    "The mean weight on the first token, where idle heads rest.",
    "The mean of each query's largest weight.",
    "Entropy as a share of that of even attention: 1 attends to all keys alike.",
    "Mean entropy of a query's attention, in nats.",
    "The mean number of tokens between query and key."};

std::string meaning_of(const evaluation::CorpusMetric& metric) {
  if (!metric.is_own()) return kMeanings[static_cast<std::size_t>(metric.metric)];
  return fmt::format("The mean weight on the cells of {}, over the queries that have one.", metric.pattern);
}

/// The data of a page. Examples refer to the texts that are shown by their number, so that one that many heads have is there
/// once.
class PageData {
 public:
  explicit PageData(const SurveyResults& results) : results_(results) {
    const evaluation::CorpusMeasures& measures = results.measures();
    Json quantities = Json::array();
    Json heads = Json::array();
    for (std::size_t place = 0; place < measures.layout.count(); ++place) {
      heads.push_back(place_json(results, place));
      heads.back().update(Json{{"name", measures.layout.name(place)}, {"file", results.layout().name(place, '_')}});
      std::size_t i = 0;
      const Json numbers = head_numbers(results, place);
      for (const auto& [title, mean] : numbers.items()) {
        if (i == quantities.size()) quantities.push_back({{"title", title}});
        Json& quantity = quantities[i];
        quantity["mean"].push_back(mean);
        if (i < measures.metrics.size()) {
          const evaluation::MetricStatistics& found = results.statistics.metrics[results.cell(i, place)];
          quantity["meaning"] = meaning_of(measures.metrics[i]);
          quantity["top"] = measures.histogram_top(measures.metrics[i]);
          quantity["spread"].push_back(found.spread());
          quantity["texts"].push_back(found.texts);
        }
        ++i;
      }
    }
    Json bins = Json::array();
    for (std::uint32_t bin = 0; bin < evaluation::kPlaceBins; ++bin) bins.push_back(evaluation::place_bin_end(bin));
    const std::string facts =
        fmt::format("{}{} \u00b7 {} \u00b7 {} texts, {} tokens", utf8(results.model().path.filename()),
                    results.model().description.is_encoder_decoder && !measures.layout.has_kinds() ? ", encoder" : "",
                    utf8(results.survey.corpus->path().filename()), results.statistics.texts, results.statistics.tokens);
    data_ = {{"facts", facts},
             {"heads", std::move(heads)},
             {"across", measures.layout.heads},
             {"metrics", measures.metrics.size()},
             {"quantities", std::move(quantities)},
             {"bins", std::move(bins)},
             {"details", Json::object()}};
  }

  void add_head(std::size_t place) {
    const evaluation::CorpusMeasures& measures = results_.measures();
    const evaluation::HeadProfile& found = results_.statistics.profiles[place];
    const model::BlockKind kind = measures.layout.at(place).block.kind;
    Json metrics = Json::array();
    for (std::size_t i = 0; i < measures.metrics.size(); ++i) {
      const std::size_t cell = results_.cell(i, place);
      Json best = Json::array(), deciles = Json::array();
      for (const ShownExample& example : results_.examples(cell)) {
        if (best.size() < kPageBest) best.push_back(page_example(example, kind));
      }
      // Each decile gives some examples from its middle.
      const std::vector<ShownExample> samples = results_.samples(cell);
      std::array<std::vector<const ShownExample*>, 10> by_decile;
      for (std::size_t at = 0; at < samples.size(); ++at) by_decile[10 * at / samples.size()].push_back(&samples[at]);
      for (const auto& decile : by_decile) {
        Json some = Json::array();
        const std::size_t first = decile.size() > kPagePerDecile ? (decile.size() - kPagePerDecile) / 2 : 0;
        for (std::size_t at = first; at < std::min(first + kPagePerDecile, decile.size()); ++at) {
          some.push_back(page_example(*decile[at], kind));
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
      if (kind != model::BlockKind::Cross) distance.push_back((found.before[bin] + found.after[bin]) / all);
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
    Json detail = profile_json(results_, place);
    detail.update(Json{{"metrics", std::move(metrics)},
                       {"distances", std::move(distance)},
                       {"positions", std::move(positions)},
                       {"side", side},
                       {"map", std::move(map)}});
    data_["details"][std::to_string(place)] = std::move(detail);
  }

  /// Returns the page. `pages`: what is before the name of another head's page, L0H0.html; none where all heads are on this
  /// page.
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
  /// Returns the text, the place of its first token that is shown, value, weight, query, key; for cross-attention that text
  /// is the query's, and the key's text and its first token follow.
  Json page_example(const ShownExample& shown, model::BlockKind kind) {
    const evaluation::HeadExample& example = shown.example;
    const auto shown_text = [&](const ShownText& text, std::uint32_t low, std::uint32_t high) {
      const std::vector<std::string>& all = text.tokens;
      const std::uint32_t first = low > kContext ? low - kContext : 0;
      const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(high + kContext + 1, all.size()));
      const bool is_target = &text == &shown.shown->target;
      const auto [known, is_new] = numbers_.try_emplace(std::tuple(example.offset, is_target, first, end), texts_.size());
      if (is_new) {
        Json tokens = Json::array();
        for (std::uint32_t token = first; token < end; ++token) tokens.push_back(all[token]);
        texts_.push_back({{"tokens", std::move(tokens)}, {"more", end < all.size()}});
      }
      return std::pair(known->second, first);
    };
    const bool is_cross = kind == model::BlockKind::Cross;
    const auto [low, high] = std::minmax(example.query, example.key);
    const auto [text, first] =
        shown_text(shown.shown->queries(kind), is_cross ? example.query : low, is_cross ? example.query : high);
    Json made = {text, first, example.value, example.weight, example.query, example.key};
    if (!is_cross) return made;
    const auto [source, first_source] = shown_text(shown.shown->source, example.key, example.key);
    made.insert(made.end(), {source, first_source});
    return made;
  }

  const SurveyResults& results_;
  Json data_, texts_ = Json::array();
  std::map<std::tuple<std::uint64_t, bool, std::uint32_t, std::uint32_t>, std::size_t> numbers_;
};

}  // namespace

std::string survey_page(const SurveyResults& results) {
  PageData data(results);
  for (std::size_t place = 0; place < results.layout().count(); ++place) data.add_head(place);
  return data.page();
}

void write_survey_site(const std::filesystem::path& directory, const SurveyResults& results) {
  make_directories(directory / "heads");
  write_file_atomically(directory / "index.html", PageData(results).page("heads/"));
  for (std::size_t place = 0; place < results.layout().count(); ++place) {
    PageData data(results);
    data.add_head(place);
    write_file_atomically(directory / "heads" / (results.layout().name(place, '_') + ".html"), data.page(""));
  }
}

}  // namespace headlight::app
