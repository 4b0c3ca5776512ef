#include "app/analyses/changed_heads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "app/analyses/head_metrics.h"
#include "app/analyses/line_tokens.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, of each of both runs.
constexpr std::size_t kStepCells = std::size_t{1} << 17;

/// Rows of one head's map that are read together.
struct Part {
  HeadRef head;
  attention::TileRequest tile;
};

class ChangedHeadsTask final : public AnalysisTask {
 public:
  ChangedHeadsTask(const AnalysisQuery& query, const AnalysisSubject& subject);

  Reads next(std::size_t most_cells) override;
  void take(const Answers& answers) override;
  bool is_done() const override { return part_ == parts_.size(); }
  std::shared_ptr<const AnalysisResult> result() const override;

 private:
  void add_head(const HeadRef& head, std::uint32_t batch, attention::KeyRange queries, attention::KeyRange keys);
  void compare(const Part& part, const attention::Tile& now, const attention::Tile& then);
  std::size_t parts_in(std::size_t most_cells) const;

  std::vector<Part> parts_;
  std::size_t part_ = 0;                 ///< the next
  std::vector<attention::Tile> of_run_;  ///< of the parts from part_ on, which are read of the other run next
  std::map<HeadRef, ChangedHead> heads_;
  std::map<HeadRef, std::uint32_t> rows_;  ///< that are read of each
};

ChangedHeadsTask::ChangedHeadsTask(const AnalysisQuery& query, const AnalysisSubject& subject) {
  for (const auto& [block, shape] : subject.shapes) {
    if (query.batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
    const attention::KeyRange queries = real_tokens(subject.input->queries(block.kind), query.batch, shape.queries);
    const attention::KeyRange keys = real_tokens(subject.input->keys(block.kind), query.batch, shape.keys);
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      add_head({.block = block, .head = head}, query.batch, queries, keys);
    }
  }
  if (parts_.empty()) throw Error("this line has no tokens");
}

void ChangedHeadsTask::add_head(const HeadRef& head, std::uint32_t batch, attention::KeyRange queries,
                                attention::KeyRange keys) {
  const std::uint32_t columns = keys.end - keys.begin;
  for (const RowStrip& strip : measured_rows(queries, columns)) {
    const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(kStepCells / columns, 1));
    for (std::uint32_t row = 0; row < strip.count; row += most) {
      parts_.push_back({.head = head,
                        .tile = {.block = head.block,
                                 .batch = batch,
                                 .head = head.head,
                                 .stage = attention::Stage::Weights,
                                 .row = strip.first + row,
                                 .rows = std::min(most, strip.count - row),
                                 .column = keys.begin,
                                 .columns = columns}});
    }
  }
}

std::size_t ChangedHeadsTask::parts_in(std::size_t most_cells) const {
  std::size_t end = part_, cells = 0;
  while (end < parts_.size()) {
    cells += std::size_t{parts_[end].tile.rows} * parts_[end].tile.columns;
    if (end > part_ && cells > std::min(most_cells, kStepCells)) break;
    ++end;
  }
  return end - part_;
}

AnalysisTask::Reads ChangedHeadsTask::next(std::size_t most_cells) {
  const std::size_t count = of_run_.empty() ? parts_in(most_cells) : of_run_.size();
  Reads reads;
  for (std::size_t part = part_; part < part_ + count; ++part) reads.tiles.push_back(parts_[part].tile);
  reads.is_of_reference = !of_run_.empty();
  return reads;
}

void ChangedHeadsTask::take(const Answers& answers) {
  if (of_run_.empty()) {
    of_run_.assign(std::make_move_iterator(answers.tiles.begin()), std::make_move_iterator(answers.tiles.end()));
    return;
  }
  for (std::size_t i = 0; i < answers.tiles.size(); ++i) compare(parts_[part_ + i], of_run_[i], answers.tiles[i]);
  part_ += answers.tiles.size();
  of_run_.clear();
}

void ChangedHeadsTask::compare(const Part& part, const attention::Tile& now, const attention::Tile& then) {
  ChangedHead& head = heads_.try_emplace(part.head, ChangedHead{.head = part.head}).first->second;
  for (std::uint32_t row = 0; row < part.tile.rows; ++row) {
    const auto weights = std::span(then.values).subspan(std::size_t{row} * part.tile.columns, part.tile.columns);
    if (std::ranges::all_of(weights, [](float weight) { return std::isnan(weight); }))
      continue;  // a query of this text alone
    ++rows_[part.head];
    for (std::uint32_t key = 0; key < part.tile.columns; ++key) {
      const float a = now.at(row, key), b = then.at(row, key);
      const double change = std::abs(double{a} - double{b});
      if (!(change > 0.0)) continue;  // equal, or no number
      head.moved += 0.5 * change;
      if (change <= std::abs(double{head.now} - double{head.then})) continue;
      head.cell = {.query = part.tile.row + row, .key = part.tile.column + key};
      head.now = a;
      head.then = b;
    }
  }
}

std::shared_ptr<const AnalysisResult> ChangedHeadsTask::result() const {
  if (!is_done()) return nullptr;
  auto found = std::make_shared<ChangedHeads>();
  found->all_heads = heads_.size();
  for (const auto& [ref, head] : heads_) {
    if (head.moved == 0.0) continue;
    found->heads.push_back(head);
    found->heads.back().moved /= rows_.at(ref);
  }
  std::ranges::stable_sort(found->heads, std::greater(), &ChangedHead::moved);
  return found;
}

std::unique_ptr<AnalysisTask> begin_changed_heads(const AnalysisQuery& query, const AnalysisSubject& subject) {
  return std::make_unique<ChangedHeadsTask>(query, subject);
}

}  // namespace

constexpr Analysis kChangedHeads{
    .id = "changed-heads", .title = "how much heads changed", .begin = &begin_changed_heads, .compares = true};

}  // namespace headlight::app
