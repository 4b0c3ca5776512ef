#include "app/analyses/head_ranking.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "app/analyses/head_metrics.h"
#include "app/analyses/line_tokens.h"
#include "app/analyses/pattern_rows.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, which a keystroke that comes meanwhile waits for.
constexpr std::size_t kRankingStepCells = std::size_t{1} << 17;
/// Cells of rows whose pattern is computed at once: an expression takes up to 10 ms for so many.
constexpr std::size_t kPatternCells = std::size_t{1} << 14;
/// From so many cells on the ranking is told as it grows: all of them take seconds.
constexpr std::size_t kLongRankingWork = std::size_t{1} << 25;

/// Rows of all heads' maps, some rows at a time, so that a pattern is computed once for all heads.
class RankingTask final : public AnalysisTask {
 public:
  /// Of the cells of `queries` and `keys`. `pattern`: null where it has every cell.
  RankingTask(const AnalysisQuery& query, const AnalysisSubject& subject, attention::KeyRange queries,
              attention::KeyRange keys, std::unique_ptr<const PatternRows> pattern);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return part_ == parts_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  attention::TileRequest request_at(std::size_t head) const;
  void add(std::size_t head, const attention::Tile& tile);
  /// The keys of the pattern in each row of a tile, counted from its first column.
  std::vector<std::vector<std::uint32_t>> keys_of(std::size_t head, const attention::TileRequest& request) const;

  std::uint32_t batch_;
  bool is_even_;  ///< compares with uniform attention
  attention::KeyRange keys_{0};
  std::unique_ptr<const PatternRows> pattern_;
  std::vector<HeadRef> heads_;
  std::vector<evaluation::PatternMeter> meters_;          ///< [head]
  std::vector<RowStrip> parts_;                           ///< rows that are read together
  std::size_t part_ = 0, head_ = 0;                       ///< what is read next
  std::vector<std::vector<std::uint32_t>> keys_of_rows_;  ///< [row] of the part; empty: not computed yet
  HeadRanking found_;
  std::size_t all_cells_ = 0;
};

RankingTask::RankingTask(const AnalysisQuery& query, const AnalysisSubject& subject, attention::KeyRange queries,
                         attention::KeyRange keys, std::unique_ptr<const PatternRows> pattern)
    : batch_(query.batch),
      is_even_(pattern && static_cast<HeadPattern>(query.options[0]) == HeadPattern::Uniform),
      keys_(keys),
      pattern_(std::move(pattern)) {
  for (const auto& [block, shape] : subject.shapes) {
    if (block.kind != query.block.kind) continue;
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads_.push_back({.block = block, .head = head});
  }
  meters_.resize(heads_.size());
  const std::uint32_t columns = keys.end - keys.begin;
  found_.queries = queries.end - queries.begin;
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kPatternCells / columns, 1));
  std::uint32_t ranked = 0;
  for (const RowStrip& strip : measured_rows(queries, columns)) {
    ranked += strip.count;
    for (std::uint32_t row = 0; row < strip.count; row += most) {
      parts_.push_back({.first = strip.first + row, .count = std::min(most, strip.count - row)});
    }
  }
  found_.is_sampled = ranked < found_.queries;
  all_cells_ = std::size_t{ranked} * columns * heads_.size();
}

attention::TileRequest RankingTask::request_at(std::size_t head) const {
  return {.block = heads_[head].block,
          .batch = batch_,
          .head = heads_[head].head,
          .stage = attention::Stage::Weights,
          .row = parts_[part_].first,
          .rows = parts_[part_].count,
          .column = keys_.begin,
          .columns = keys_.end - keys_.begin};
}

AnalysisTask::Reads RankingTask::next(std::size_t most_cells) {
  const std::size_t cells = std::size_t{parts_[part_].count} * (keys_.end - keys_.begin);
  std::size_t count = std::max<std::size_t>(std::min(most_cells, kRankingStepCells) / cells, 1);
  if (pattern_ && pattern_->depends_on_head()) count = 1;
  Reads reads;
  for (std::size_t head = head_; head < std::min(head_ + count, heads_.size()); ++head) {
    reads.tiles.push_back(request_at(head));
  }
  return reads;
}

std::vector<std::vector<std::uint32_t>> RankingTask::keys_of(std::size_t head, const attention::TileRequest& request) const {
  const std::size_t columns = request.columns;
  const std::vector<std::uint8_t> cells = pattern_ ? pattern_->rows(heads_[head], request.row, request.rows)
                                                   : std::vector<std::uint8_t>(request.rows * columns, 1);
  std::vector<std::vector<std::uint32_t>> keys(request.rows);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell] != 0) keys[cell / columns].push_back(static_cast<std::uint32_t>(cell % columns));
  }
  return keys;
}

void RankingTask::add(std::size_t head, const attention::Tile& tile) {
  const bool has_own_pattern = pattern_ && pattern_->depends_on_head();
  if (!is_even_ && (keys_of_rows_.empty() || has_own_pattern)) keys_of_rows_ = keys_of(head, tile.request);
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

void RankingTask::take(const Answers& answers) {
  for (const attention::Tile& tile : answers.tiles) add(head_++, tile);
  if (head_ < heads_.size()) return;
  found_.ranked_queries += parts_[part_].count;
  for (std::size_t head = 0; head < heads_.size(); ++head) {
    found_.heads.insert_or_assign(heads_[head], meters_[head].match());
  }
  head_ = 0;
  ++part_;
  keys_of_rows_.clear();
}

std::shared_ptr<const AnalysisResult> RankingTask::result() const {
  const bool tells_more = !found_.heads.empty() && head_ == 0 && all_cells_ >= kLongRankingWork;
  return is_done() || tells_more ? std::make_shared<const HeadRanking>(found_) : nullptr;
}

/// The shape of the asked kind's maps. Throws Error where there is none, or no such line.
inference::BlockShape shape_of(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const auto found = std::ranges::find(subject.shapes, query.block.kind, [](const auto& entry) { return entry.first.kind; });
  if (found == subject.shapes.end()) throw Error("this run has no such attention");
  if (query.batch >= found->second.batch) throw Error("this run has {} lines", found->second.batch);
  return found->second;
}

std::unique_ptr<AnalysisTask> begin_from_to(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const inference::BlockShape shape = shape_of(query, subject);
  const std::uint32_t last_query = query.options[0], last_key = query.options[1];
  const bool is_there =
      query.query <= last_query && last_query < shape.queries && query.key <= last_key && last_key < shape.keys;
  if (!is_there) throw Error("this run has no such tokens");
  return std::make_unique<RankingTask>(query, subject, attention::KeyRange(query.query, last_query + 1),
                                       attention::KeyRange(query.key, last_key + 1), nullptr);
}

std::unique_ptr<AnalysisTask> begin_pattern(const AnalysisQuery& query, const AnalysisSubject& subject) {
  const inference::BlockShape shape = shape_of(query, subject);
  const model::BlockKind kind = query.block.kind;
  const attention::KeyRange queries = real_tokens(subject.input->queries(kind), query.batch, shape.queries);
  const attention::KeyRange keys = real_tokens(subject.input->keys(kind), query.batch, shape.keys);
  if (queries.begin == queries.end || keys.begin == keys.end) throw Error("this line has no tokens");
  return std::make_unique<RankingTask>(query, subject, queries, keys,
                                       std::make_unique<const PatternRows>(query, subject, queries, keys));
}

}  // namespace

constexpr Analysis kFromTo{.id = "from-to", .title = "which heads look from tokens to tokens", .begin = &begin_from_to};
constexpr Analysis kPatternRanking{.id = "pattern-ranking", .title = "which heads match a pattern", .begin = &begin_pattern};

AnalysisQuery from_to_query(const Selection& selection, const CellRange& range) {
  return {.analysis = &kFromTo,
          .block = {.kind = selection.block.kind, .layer = {}},
          .batch = selection.batch,
          .query = range.first.query,
          .key = range.first.key,
          .options = {range.last.query, range.last.key}};
}

AnalysisQuery pattern_query(const Selection& selection, HeadPattern pattern, const std::string& typed) {
  return {.analysis = &kPatternRanking,
          .block = {.kind = selection.block.kind, .layer = {}},
          .batch = selection.batch,
          .options = {static_cast<std::uint32_t>(pattern), 0},
          .formula = pattern == HeadPattern::Typed ? typed : std::string()};
}

}  // namespace headlight::app
