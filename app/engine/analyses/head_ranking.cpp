#include "app/engine/analyses/head_ranking.h"

#include <numeric>

#include "app/engine/analyses/head_metrics.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, which a keystroke that comes meanwhile waits for.
constexpr std::size_t kRankingStepCells = std::size_t{1} << 17;
/// Cells of rows whose pattern is computed at once: an expression takes up to 10 ms for so many.
constexpr std::size_t kPatternCells = std::size_t{1} << 14;
/// A ranking of this many cells takes seconds: it is reported as it grows.
constexpr std::size_t kLongRankingWork = std::size_t{1} << 25;

/// Adds rows of each head's map to its number. `pattern`: null where it has every cell.
class Ranking {
 public:
  Ranking(std::size_t heads, const PatternRows* pattern, bool is_even)
      : meters_(heads), pattern_(pattern), is_even_(is_even) {}

  bool has_own_patterns() const { return pattern_ != nullptr && pattern_->depends_on_head(); }
  /// Begins the next rows of all heads.
  void begin_rows() { keys_of_rows_.clear(); }
  void add(std::size_t head, const attention::Tile& tile);
  std::optional<evaluation::PatternMatch> match(std::size_t head) const { return meters_[head].match(); }

 private:
  /// Returns the keys of the pattern in each row of a tile, counted from its first column.
  std::vector<std::vector<std::uint32_t>> keys_of(const attention::TileRequest& request) const;

  std::vector<evaluation::PatternMeter> meters_;  ///< [head]
  const PatternRows* pattern_;
  bool is_even_;                                          ///< compares with uniform attention
  std::vector<std::vector<std::uint32_t>> keys_of_rows_;  ///< [row]; empty: not computed yet
};

std::vector<std::vector<std::uint32_t>> Ranking::keys_of(const attention::TileRequest& request) const {
  const std::size_t columns = request.columns;
  const std::vector<std::uint8_t> cells =
      pattern_ ? pattern_->rows({.block = request.block, .head = request.head}, request.row, request.rows)
               : std::vector<std::uint8_t>(request.rows * columns, 1);
  std::vector<std::vector<std::uint32_t>> keys(request.rows);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell] != 0) keys[cell / columns].push_back(static_cast<std::uint32_t>(cell % columns));
  }
  return keys;
}

void Ranking::add(std::size_t head, const attention::Tile& tile) {
  if (!is_even_ && (keys_of_rows_.empty() || has_own_patterns())) keys_of_rows_ = keys_of(tile.request);
  const std::size_t columns = tile.request.columns;
  for (std::size_t row = 0; row < tile.request.rows; ++row) {
    const auto values = std::span(tile.values).subspan(row * columns, columns);
    const std::vector<double> weights(values.begin(), values.end());
    const auto masked = tile.masked.empty() ? std::span<const std::uint8_t>()
                                            : std::span<const std::uint8_t>(tile.masked).subspan(row * columns, columns);
    if (is_even_) {
      meters_[head].add_evenness(weights, masked);
      continue;
    }
    const auto is_visible = [&](std::uint32_t key) { return masked.empty() || masked[key] == 0; };
    const auto hidden = std::ranges::count_if(masked, [](std::uint8_t is) { return is != 0; });
    const auto visible = static_cast<double>(columns) - static_cast<double>(hidden);
    const std::vector<std::uint32_t>& keys = keys_of_rows_[row];
    const auto seen = static_cast<double>(std::ranges::count_if(keys, is_visible));
    meters_[head].add(weights, std::reduce(weights.begin(), weights.end()), keys, seen / std::max(visible, 1.0));
  }
}

/// Ranks some rows of all heads at a time, so that a pattern is computed once for all heads.
Task<HeadRanking> ranked(LineMaps maps, std::uint32_t batch, std::unique_ptr<const PatternRows> pattern, bool is_even) {
  HeadRanking found;
  found.queries = maps.queries.end - maps.queries.begin;
  const std::size_t columns = maps.columns();
  const std::vector<RowStrip> parts = in_parts(measured_rows(maps.queries, maps.columns()), kPatternCells / columns);
  std::uint32_t rows = 0;
  for (const RowStrip& part : parts) rows += part.count;
  found.is_sampled = rows < found.queries;
  const bool is_long = std::size_t{rows} * columns * maps.heads.size() >= kLongRankingWork;
  Ranking ranking(maps.heads.size(), pattern.get(), is_even);
  for (const RowStrip& part : parts) {
    ranking.begin_rows();
    std::size_t at_once = std::max<std::size_t>(kRankingStepCells / (part.count * columns), 1);
    if (ranking.has_own_patterns()) at_once = 1;
    for (std::size_t head = 0; head < maps.heads.size();) {
      Reads reads;
      for (std::size_t at = head; at < std::min(head + at_once, maps.heads.size()); ++at) {
        reads.tiles.push_back(weights_of(maps.heads[at], batch, part, maps.keys));
      }
      const Answers read = co_await std::move(reads);
      for (const attention::Tile& tile : read.tiles) ranking.add(head++, tile);
    }
    found.ranked_queries += part.count;
    for (std::size_t head = 0; head < maps.heads.size(); ++head) {
      found.heads.insert_or_assign(maps.heads[head], ranking.match(head));
    }
    if (is_long) co_yield found;
  }
  co_return found;
}

}  // namespace

Task<HeadRanking> analyse(FromToQuestion question, AnalysisSubject subject) {  // NOLINT: values, as of all analyses
  LineMaps maps = maps_of(question.kind, question.batch, subject);
  const attention::Cell first = question.range.first, last = question.range.last;
  const bool is_there =
      first.query <= last.query && last.query < maps.shape.queries && first.key <= last.key && last.key < maps.shape.keys;
  if (!is_there) throw Error("this run has no such tokens");
  maps.queries = {first.query, last.query + 1};
  maps.keys = {first.key, last.key + 1};
  return ranked(std::move(maps), question.batch, nullptr, false);
}

Task<HeadRanking> analyse(PatternQuestion question, AnalysisSubject subject) {  // NOLINT: a coroutine keeps its own values
  LineMaps maps = maps_of(question.kind, question.batch, subject);
  if (maps.queries.begin == maps.queries.end || maps.columns() == 0) throw Error("this line has no tokens");
  auto pattern = std::make_unique<const PatternRows>(question, subject, maps.queries, maps.keys);
  return ranked(std::move(maps), question.batch, std::move(pattern), question.pattern == HeadPattern::Uniform);
}

FromToQuestion from_to_query(const Selection& selection, const CellRange& range) {
  return {.kind = selection.block.kind, .batch = selection.batch, .range = range};
}

PatternQuestion pattern_query(const Selection& selection, HeadPattern pattern, const std::string& typed) {
  return {.kind = selection.block.kind,
          .batch = selection.batch,
          .pattern = pattern,
          .typed = pattern == HeadPattern::Typed ? typed : std::string()};
}

}  // namespace headlight::app
