#include "app/analyses/head_metrics.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "app/analyses/line_tokens.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step: a keystroke that comes meanwhile waits for two milliseconds or three.
constexpr std::size_t kMetricStepCells = std::size_t{1} << 17;
/// From so many cells on the heads that are known so far are told before all are: that takes seconds.
constexpr std::size_t kLongMetricWork = std::size_t{1} << 25;
constexpr std::uint32_t kMetricStrips = 32;

class HeadMetricsTask final : public AnalysisTask {
 public:
  HeadMetricsTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return head_ == heads_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// What is read next: rows of strip `strip` of head `head`, from `row` rows behind its beginning on.
  struct Cursor {
    std::size_t head = 0, strip = 0;
    std::uint32_t row = 0;
  };
  attention::TileRequest request_at(const Cursor& cursor, std::uint32_t most_rows) const;
  void pass(Cursor& cursor, std::uint32_t rows) const;
  void add(const attention::Tile& tile);
  evaluation::HeadMeter new_meter() const { return repeats_ ? evaluation::HeadMeter(*repeats_) : evaluation::HeadMeter(); }

  std::uint32_t batch_;
  attention::KeyRange queries_{0}, keys_{0};
  std::optional<evaluation::TokenRepeats> repeats_;  ///< none: attention between two texts
  std::vector<HeadRef> heads_;
  std::vector<RowStrip> strips_;
  std::size_t head_ = 0;  ///< that `meter_` measures
  Cursor cursor_;
  evaluation::HeadMeter meter_;
  std::vector<double> weights_;  ///< [key] of one row
  HeadMetricsFound found_;
  std::size_t all_cells_ = 0;
};

HeadMetricsTask::HeadMetricsTask(const AnalysisQuery& query, const AnalysisSubject& subject) : batch_(query.batch) {
  const model::BlockKind kind = query.block.kind;
  for (const auto& [block, shape] : subject.shapes) {
    if (block.kind != kind) continue;
    for (std::uint32_t head = 0; head < shape.heads; ++head) heads_.push_back({.block = block, .head = head});
  }
  if (heads_.empty()) throw Error("this run has no such attention");
  const inference::BlockShape& shape = subject.shapes.at(heads_.front().block);
  if (batch_ >= shape.batch) throw Error("this run has {} lines", shape.batch);
  const model::TokenBatch& query_tokens = subject.input->queries(kind);
  queries_ = real_tokens(query_tokens, batch_, shape.queries);
  keys_ = real_tokens(subject.input->keys(kind), batch_, shape.keys);
  const bool is_one_text = kind != model::BlockKind::Cross && shape.queries == shape.keys;
  if (is_one_text) {
    std::vector<std::uint32_t> tokens = token_numbers(query_tokens, batch_);
    if (tokens.size() != queries_.end - queries_.begin) {  // without names or ids: all different
      tokens.resize(queries_.end - queries_.begin);
      std::iota(tokens.begin(), tokens.end(), 0U);
    }
    repeats_.emplace(tokens);
  }
  const std::uint32_t keys = keys_.end - keys_.begin;
  strips_ = measured_rows(queries_, keys);
  found_.all_heads = heads_.size();
  found_.queries = queries_.end - queries_.begin;
  for (const RowStrip& strip : strips_) found_.measured_queries += strip.count;
  all_cells_ = std::size_t{found_.measured_queries} * keys * heads_.size();
  if (all_cells_ == 0) throw Error("this line has no tokens");
  meter_ = new_meter();
}

attention::TileRequest HeadMetricsTask::request_at(const Cursor& cursor, std::uint32_t most_rows) const {
  const RowStrip& strip = strips_[cursor.strip];
  return {.block = heads_[cursor.head].block,
          .batch = batch_,
          .head = heads_[cursor.head].head,
          .stage = attention::Stage::Weights,
          .row = strip.first + cursor.row,
          .rows = std::min(strip.count - cursor.row, most_rows),
          .column = keys_.begin,
          .columns = keys_.end - keys_.begin};
}

void HeadMetricsTask::pass(Cursor& cursor, std::uint32_t rows) const {
  cursor.row += rows;
  if (cursor.row < strips_[cursor.strip].count) return;
  cursor.row = 0;
  if (++cursor.strip < strips_.size()) return;
  cursor.strip = 0;
  ++cursor.head;
}

AnalysisTask::Reads HeadMetricsTask::next(std::size_t most_cells) {
  const std::size_t keys = keys_.end - keys_.begin;
  std::size_t left = std::min(most_cells, kMetricStepCells);
  Reads reads;
  Cursor cursor = cursor_;
  while (cursor.head < heads_.size() && (reads.tiles.empty() || left >= keys)) {
    const attention::TileRequest request =
        request_at(cursor, static_cast<std::uint32_t>(std::max(left / keys, std::size_t{1})));
    pass(cursor, request.rows);
    left -= std::min(left, request.rows * keys);
    reads.tiles.push_back(request);
  }
  return reads;
}

void HeadMetricsTask::take(const Answers& answers) {
  for (const attention::Tile& tile : answers.tiles) {
    add(tile);
    pass(cursor_, tile.request.rows);
    if (cursor_.head == head_) continue;
    found_.heads.emplace(heads_[head_], meter_.metrics());
    meter_ = new_meter();
    head_ = cursor_.head;
  }
}

void HeadMetricsTask::add(const attention::Tile& tile) {
  const std::uint32_t keys = tile.request.columns;
  weights_.resize(keys);
  for (std::uint32_t row = 0; row < tile.request.rows; ++row) {
    std::uint32_t visible = 0;
    for (std::uint32_t key = 0; key < keys; ++key) {
      weights_[key] = double{tile.at(row, key)};
      if (!tile.is_masked(row, key)) ++visible;
    }
    // A row without keys is no query of these: the whole row is masked, or the capture hasn't got it.
    if (visible > 0) meter_.add(tile.request.row + row - queries_.begin, weights_, visible);
  }
}

std::shared_ptr<const AnalysisResult> HeadMetricsTask::result() const {
  if (!is_done() && all_cells_ < kLongMetricWork) return nullptr;
  return std::make_shared<const HeadMetricsFound>(found_);
}

std::unique_ptr<AnalysisTask> begin_head_metrics(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<HeadMetricsTask>(query, subject);
}

}  // namespace

constexpr Analysis kHeadMetricAnalysis{.id = "head-metrics", .title = "what heads do", .begin = &begin_head_metrics};

std::vector<RowStrip> measured_rows(attention::KeyRange queries, std::uint32_t keys) {
  const std::uint32_t count = queries.end - queries.begin;
  if (count == 0 || keys == 0) return {};
  if (std::size_t{count} * keys <= kMostMeasuredCells) return {{.first = queries.begin, .count = count}};
  const auto rows = static_cast<std::uint32_t>(std::max<std::size_t>(kMostMeasuredCells / keys / kMetricStrips, 1));
  const std::uint32_t strips = std::min(kMetricStrips, count / rows);
  std::vector<RowStrip> measured;
  for (std::uint32_t strip = 0; strip < strips; ++strip) {
    // The last one ends with the text.
    const std::uint64_t behind = std::uint64_t{count - rows} * strip / std::max(strips - 1, 1U);
    measured.push_back({.first = queries.begin + static_cast<std::uint32_t>(behind), .count = rows});
  }
  return measured;
}

std::vector<std::uint32_t> token_numbers(const model::TokenBatch& tokens, std::uint32_t item) {
  std::vector<std::uint32_t> numbers;
  if (item >= tokens.lengths.size()) return numbers;
  const std::uint32_t first = tokens.start(item), end = first + tokens.lengths[item];
  const bool has_ids = tokens.vectors.is_empty() && tokens.ids.size() >= std::size_t{item + 1} * tokens.length;
  std::map<std::string, std::uint32_t> known;
  for (std::uint32_t token = first; token < end; ++token) {
    if (has_ids) {
      numbers.push_back(tokens.ids[std::size_t{item} * tokens.length + token]);
    } else if (item < tokens.texts.size() && token < tokens.texts[item].size()) {
      numbers.push_back(
          known.try_emplace(tokens.texts[item][token], static_cast<std::uint32_t>(known.size())).first->second);
    }
  }
  return numbers;
}

}  // namespace headlight::app
