#include "app/engine/analyses/head_metrics.h"

#include <numeric>

#include "app/engine/analyses/head_metric_text.h"
#include "core/error.h"

namespace headlight::app {

namespace {

/// Cells of one step: a keystroke that comes meanwhile waits for two milliseconds or three.
constexpr std::size_t kMetricStepCells = std::size_t{1} << 17;
/// A text of this many cells takes seconds: the heads that are known so far are reported before all are.
constexpr std::size_t kLongMetricWork = std::size_t{1} << 25;
constexpr std::uint32_t kMetricStrips = 32;

/// Returns the repeats of tokens for self-attention, whose queries are its keys; none for attention between two texts.
std::optional<evaluation::TokenRepeats> repeats_of(const HeadMetricsQuestion& question, const LineMaps& maps,
                                                   const AnalysisSubject& subject) {
  if (question.kind == model::BlockKind::Cross || maps.shape.queries != maps.shape.keys) return std::nullopt;
  return evaluation::TokenRepeats(
      token_numbers(subject.input->queries(question.kind), question.batch, maps.queries.end - maps.queries.begin));
}

/// Adds rows of a head's weights. `first`: the line's first query.
void add(const attention::Tile& tile, std::uint32_t first, evaluation::HeadMeter& meter) {
  const std::uint32_t keys = tile.request.columns;
  std::vector<double> weights(keys);
  for (std::uint32_t row = 0; row < tile.request.rows; ++row) {
    std::uint32_t visible = 0;
    for (std::uint32_t key = 0; key < keys; ++key) {
      weights[key] = double{tile.at(row, key)};
      if (!tile.is_masked(row, key)) ++visible;
    }
    // A row without keys is no query of these: the whole row is masked, or the capture hasn't got it.
    if (visible > 0) meter.add(tile.request.row + row - first, weights, visible);
  }
}

/// Returns requests for the rows of all heads, one head after the other.
std::vector<attention::TileRequest> measured_tiles(const LineMaps& maps, std::uint32_t batch,
                                                   const std::vector<RowStrip>& strips) {
  std::vector<attention::TileRequest> tiles;
  for (const HeadRef& head : maps.heads) {
    for (const RowStrip& strip : strips) tiles.push_back(weights_of(head, batch, strip, maps.keys));
  }
  return tiles;
}

}  // namespace

Task<HeadMetricsFound> analyse(HeadMetricsQuestion question, AnalysisSubject subject) {
  const LineMaps maps = maps_of(question.kind, question.batch, subject);
  const std::optional<evaluation::TokenRepeats> repeats = repeats_of(question, maps, subject);
  HeadMetricsFound found;
  found.all_heads = maps.heads.size();
  found.queries = maps.queries.end - maps.queries.begin;
  const std::vector<RowStrip> strips = measured_rows(maps.queries, maps.columns());
  for (const RowStrip& strip : strips) found.measured_queries += strip.count;
  const std::size_t all_cells = std::size_t{found.measured_queries} * maps.columns() * maps.heads.size();
  if (all_cells == 0) throw Error("this line has no tokens");
  const std::vector<attention::TileRequest> tiles =
      measured_tiles(maps, question.batch, in_parts(strips, kMetricStepCells / maps.columns()));
  const auto new_meter = [&] { return repeats ? evaluation::HeadMeter(*repeats) : evaluation::HeadMeter(); };
  evaluation::HeadMeter meter = new_meter();
  for (std::size_t next = 0; next < tiles.size();) {
    Reads reads;
    std::size_t cells = 0;
    for (std::size_t at = next; at < tiles.size(); ++at) {
      cells += tiles[at].cells();
      if (at > next && cells > kMetricStepCells) break;
      reads.tiles.push_back(tiles[at]);
    }
    const Answers read = co_await std::move(reads);
    for (const attention::Tile& tile : read.tiles) {
      add(tile, maps.queries.begin, meter);
      const HeadRef head = maps.heads[next / (tiles.size() / maps.heads.size())];
      ++next;
      if (next % (tiles.size() / maps.heads.size()) != 0) continue;
      found.heads.emplace(head, meter.metrics());
      meter = new_meter();
    }
    if (all_cells >= kLongMetricWork) co_yield found;
  }
  co_return found;
}

LineMaps maps_of(model::BlockKind kind, std::uint32_t batch, const AnalysisSubject& subject) {
  std::vector<HeadRef> heads = heads_of_kind(subject.shapes, kind);
  if (heads.empty()) throw Error("this run has no such attention");
  const inference::BlockShape& shape = subject.shapes.at(heads.front().block);
  if (batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
  return {.heads = std::move(heads),
          .shape = shape,
          .queries = real_tokens(subject.input->queries(kind), batch, shape.queries),
          .keys = real_tokens(subject.input->keys(kind), batch, shape.keys)};
}

attention::TileRequest weights_of(const HeadRef& head, std::uint32_t batch, const RowStrip& rows, attention::KeyRange keys) {
  return {.block = head.block,
          .batch = batch,
          .head = head.head,
          .stage = attention::Stage::Weights,
          .row = rows.first,
          .rows = rows.count,
          .column = keys.begin,
          .columns = keys.end - keys.begin};
}

std::vector<RowStrip> in_parts(const std::vector<RowStrip>& strips, std::size_t most) {
  const auto rows = static_cast<std::uint32_t>(std::max<std::size_t>(most, 1));
  std::vector<RowStrip> parts;
  for (const RowStrip& strip : strips) {
    for (std::uint32_t row = 0; row < strip.count; row += rows) {
      parts.push_back({.first = strip.first + row, .count = std::min(rows, strip.count - row)});
    }
  }
  return parts;
}

std::vector<RowStrip> measured_rows(attention::KeyRange queries, std::uint32_t keys) {
  const std::uint32_t count = queries.end - queries.begin;
  if (count == 0 || keys == 0) return {};
  if (std::size_t{count} * keys <= kMaxMeasuredCells) return {{.first = queries.begin, .count = count}};
  const auto rows = static_cast<std::uint32_t>(std::max<std::size_t>(kMaxMeasuredCells / keys / kMetricStrips, 1));
  const std::uint32_t strips = std::min(kMetricStrips, count / rows);
  std::vector<RowStrip> measured;
  for (std::uint32_t strip = 0; strip < strips; ++strip) {
    // The last one ends with the text.
    const std::uint64_t behind = std::uint64_t{count - rows} * strip / std::max(strips - 1, 1U);
    measured.push_back({.first = queries.begin + static_cast<std::uint32_t>(behind), .count = rows});
  }
  return measured;
}

std::vector<std::uint32_t> token_numbers(const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t count) {
  std::vector<std::uint32_t> numbers;
  const std::uint32_t first = tokens.start(item), end = first + (item < tokens.lengths.size() ? tokens.lengths[item] : 0);
  const bool has_ids = tokens.vectors.is_empty() && tokens.ids.size() >= std::size_t{item + 1} * tokens.length;
  std::map<std::string, std::uint32_t> known;
  for (std::uint32_t token = first; token < end; ++token) {
    if (has_ids) {
      numbers.push_back(tokens.ids[std::size_t{item} * tokens.length + token]);
    } else if (const std::string* text = tokens.label(item, token)) {
      numbers.push_back(known.try_emplace(*text, static_cast<std::uint32_t>(known.size())).first->second);
    }
  }
  if (numbers.size() != count) {  // without names or ids: all different
    numbers.resize(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
  }
  return numbers;
}

namespace {

using evaluation::HeadMetric;
using evaluation::HeadMetrics;

std::optional<double> listed_value(const HeadMetricsFound* found, const HeadRef& head, HeadMetric metric,
                                   const evaluation::PatternScoring& scoring) {
  const HeadMetrics* metrics = found ? found->find(head) : nullptr;
  return metrics ? metrics->value(metric, scoring) : std::nullopt;
}

}  // namespace

std::vector<HeadRef> heads_of_kind(const BlockShapes& shapes, model::BlockKind kind) {
  std::vector<HeadRef> heads;
  for (const auto& [block, shape] : shapes) {
    if (block.kind != kind) continue;
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads.push_back({.block = block, .head = head});
  }
  return heads;
}

std::vector<HeadRef> listed_heads(const BlockShapes& shapes, model::BlockKind kind, const HeadChoices& choices,
                                  const HeadMetricsFound* found) {
  return listed_heads(heads_of_kind(shapes, kind), choices, found);
}

std::vector<HeadRef> listed_heads(std::vector<HeadRef> heads, const HeadChoices& choices, const HeadMetricsFound* found) {
  if (choices.only_pinned) std::erase_if(heads, [&](const HeadRef& head) { return !is_pinned(choices, head); });
  if (const std::optional<HeadMetric> filter = choices.filter) {
    std::erase_if(heads, [&](const HeadRef& head) {
      const std::optional<double> value = listed_value(found, head, *filter, choices.scoring);
      return !value || *value < double{choices.least};
    });
  }
  if (choices.order) {
    order_heads(heads, choices.lowest_first,
                [&](const HeadRef& head) { return listed_value(found, head, *choices.order, choices.scoring); });
  }
  return heads;
}

void order_heads(std::vector<HeadRef>& heads, bool lowest_first,
                 const std::function<std::optional<double>(const HeadRef&)>& value) {
  std::vector<std::pair<std::optional<double>, HeadRef>> keyed;
  for (const HeadRef& head : heads) keyed.emplace_back(value(head), head);
  std::ranges::stable_sort(keyed, [&](const auto& a, const auto& b) {
    if (!a.first || !b.first) return a.first.has_value() && !b.first.has_value();
    const double one = a.first.value(), other = b.first.value();
    return lowest_first ? one < other : one > other;
  });
  std::ranges::transform(keyed, heads.begin(), [](const auto& entry) { return entry.second; });
}

std::string head_caption(const HeadRef& head, const HeadMetrics* metrics, const HeadChoices& choices) {
  std::string text = head_name(head);
  if (metrics == nullptr) return text;
  if (choices.order) return text + "  " + metric_number(*choices.order, metrics->value(*choices.order, choices.scoring));
  const std::string badge = choices.shows_badges ? badge_text(*metrics) : std::string();
  return badge.empty() ? text : text + "  " + badge;
}

}  // namespace headlight::app
