#include "app/analyses/changed_cells.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "app/analyses/head_metrics.h"
#include "app/analyses/line_tokens.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, of all heads together.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 18;

class ChangedCellsTask final : public AnalysisTask {
 public:
  ChangedCellsTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return strip_ == strips_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  /// The sums over the heads of a strip's cells.
  std::vector<double> summed(std::span<const attention::Tile> tiles) const;
  void compare(std::span<const double> now, std::span<const double> then);
  void keep(const ChangedCell& one);

  std::uint32_t batch_;
  attention::KeyRange keys_{0};
  std::vector<HeadRef> heads_;     ///< that the map is the mean of
  std::vector<RowStrip> strips_;   ///< of few rows each
  std::size_t strip_ = 0;          ///< the next
  std::vector<double> now_;        ///< of the strip; empty: it is read of the run next, else of the other
  std::vector<ChangedCell> most_;  ///< in order
  std::size_t changed_ = 0;
};

ChangedCellsTask::ChangedCellsTask(const AnalysisQuery& query, const AnalysisSubject& subject) : batch_(query.batch) {
  const auto mean = static_cast<HeadMean>(query.options[0]);
  for (const auto& [block, shape] : subject.shapes) {
    const bool is_meant = mean == HeadMean::Kind ? block.kind == query.block.kind : block == query.block;
    if (!is_meant) continue;
    if (query.batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      if (mean != HeadMean::None || head == query.head) heads_.push_back({.block = block, .head = head});
    }
  }
  if (heads_.empty()) throw Error("this run has no such map");
  const inference::BlockShape& shape = subject.shapes.at(heads_.front().block);
  const attention::KeyRange queries = real_tokens(subject.input->queries(query.block.kind), batch_, shape.queries);
  keys_ = real_tokens(subject.input->keys(query.block.kind), batch_, shape.keys);
  if (keys_.end == keys_.begin || queries.end == queries.begin) throw Error("this line has no tokens");
  const std::size_t row_cells = std::size_t{keys_.end - keys_.begin} * heads_.size();
  const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kCellsAtOnce / row_cells, 1));
  for (const RowStrip& strip : measured_rows(queries, keys_.end - keys_.begin)) {
    for (std::uint32_t row = 0; row < strip.count; row += most) {
      strips_.push_back({.first = strip.first + row, .count = std::min(most, strip.count - row)});
    }
  }
}

AnalysisTask::Reads ChangedCellsTask::next(std::size_t /*most_cells*/) {
  Reads reads;
  reads.is_of_reference = !now_.empty();
  for (const HeadRef& head : heads_) {
    reads.tiles.push_back({.block = head.block,
                           .batch = batch_,
                           .head = head.head,
                           .stage = attention::Stage::Weights,
                           .row = strips_[strip_].first,
                           .rows = strips_[strip_].count,
                           .column = keys_.begin,
                           .columns = keys_.end - keys_.begin});
  }
  return reads;
}

std::vector<double> ChangedCellsTask::summed(std::span<const attention::Tile> tiles) const {
  std::vector<double> sums(tiles.front().values.size());
  for (const attention::Tile& tile : tiles) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double{tile.values[i]};
  }
  return sums;
}

void ChangedCellsTask::take(const Answers& answers) {
  if (now_.empty()) {
    now_ = summed(answers.tiles);
    return;
  }
  compare(now_, summed(answers.tiles));
  now_.clear();
  ++strip_;
}

void ChangedCellsTask::compare(std::span<const double> now, std::span<const double> then) {
  const std::uint32_t columns = keys_.end - keys_.begin;
  const auto heads = static_cast<double>(heads_.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!(std::abs(now[i] - then[i]) > 0.0)) continue;  // equal, or no number
    ++changed_;
    keep({.cell = {.query = strips_[strip_].first + static_cast<std::uint32_t>(i / columns),
                   .key = keys_.begin + static_cast<std::uint32_t>(i % columns)},
          .now = now[i] / heads,
          .then = then[i] / heads});
  }
}

void ChangedCellsTask::keep(const ChangedCell& one) {
  const auto size = [](const ChangedCell& cell) { return std::abs(cell.change()); };
  if (most_.size() == ChangedCells::kMost && size(one) <= size(most_.back())) return;
  const auto place = std::ranges::upper_bound(most_, size(one), std::greater(), size);
  most_.insert(place, one);
  if (most_.size() > ChangedCells::kMost) most_.pop_back();
}

std::shared_ptr<const AnalysisResult> ChangedCellsTask::result() const {
  if (!is_done()) return nullptr;
  auto found = std::make_shared<ChangedCells>();
  found->cells = most_;
  found->changed = changed_;
  return found;
}

std::unique_ptr<AnalysisTask> begin_changed_cells(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<ChangedCellsTask>(query, subject);
}

}  // namespace

constexpr Analysis kChangedCells{
    .id = "changed-cells", .title = "the cells that changed most", .begin = &begin_changed_cells, .compares = true};

AnalysisQuery changed_cells_query(const Selection& selection) {
  AnalysisQuery query{.analysis = &kChangedCells, .block = selection.block, .batch = selection.batch};
  query.options[0] = static_cast<std::uint32_t>(selection.mean);
  if (selection.mean == HeadMean::None) query.head = selection.head;
  if (selection.mean == HeadMean::Kind) query.block.layer.value = 0;  // the same for every layer
  return query;
}

}  // namespace headlight::app
