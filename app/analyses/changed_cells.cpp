#include "app/analyses/changes.h"

#include "app/analyses/analysis.h"
#include "app/analyses/head_metrics.h"
#include "core/error.h"

namespace headlight::app {
namespace {

/// Cells of one step, of all heads together.
constexpr std::size_t kCellsAtOnce = std::size_t{1} << 18;

/// Returns the heads that the map is the mean of.
std::vector<HeadRef> heads_of(const ChangedCellsQuestion& question, const BlockShapes& shapes) {
  std::vector<HeadRef> heads;
  for (const auto& [block, shape] : shapes) {
    const bool is_meant = question.mean == HeadMean::Kind ? block.kind == question.block.kind : block == question.block;
    if (!is_meant) continue;
    if (question.batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      if (question.mean != HeadMean::None || head == question.head) heads.push_back({.block = block, .head = head});
    }
  }
  if (heads.empty()) throw Error("this run has no such map");
  return heads;
}

/// Returns the sums over the heads of a strip's cells.
std::vector<double> summed(std::span<const attention::Tile> tiles) {
  std::vector<double> sums(tiles.front().values.size());
  for (const attention::Tile& tile : tiles) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += double{tile.values[i]};
  }
  return sums;
}

void keep(const ChangedCell& one, std::vector<ChangedCell>& most) {
  const auto size = [](const ChangedCell& cell) { return std::abs(cell.change()); };
  if (most.size() == ChangedCells::kMax && size(one) <= size(most.back())) return;
  most.insert(std::ranges::upper_bound(most, size(one), std::greater(), size), one);
  if (most.size() > ChangedCells::kMax) most.pop_back();
}

}  // namespace

Task<ChangedCells> analyse(ChangedCellsQuestion question, AnalysisSubject subject) {
  const std::vector<HeadRef> heads = heads_of(question, subject.shapes);
  const inference::BlockShape& shape = subject.shapes.at(heads.front().block);
  const attention::KeyRange queries =
      real_tokens(subject.input->queries(question.block.kind), question.batch, shape.queries);
  const attention::KeyRange keys = real_tokens(subject.input->keys(question.block.kind), question.batch, shape.keys);
  const std::uint32_t columns = keys.end - keys.begin;
  if (columns == 0 || queries.end == queries.begin) throw Error("this line has no tokens");
  const std::size_t most = std::max<std::size_t>(kCellsAtOnce / (std::size_t{columns} * heads.size()), 1);
  const auto heads_count = static_cast<double>(heads.size());
  ChangedCells found;
  const std::vector<RowStrip> strips = in_parts(measured_rows(queries, columns), most);
  for (const RowStrip& strip : strips) {
    Reads of_run;
    for (const HeadRef& head : heads) of_run.tiles.push_back(weights_of(head, question.batch, strip, keys));
    Reads of_baseline{.of = WhichRun::Baseline, .tiles = of_run.tiles};
    const Answers here = co_await std::move(of_run);
    const std::vector<double> now = summed(here.tiles);
    const Answers there = co_await std::move(of_baseline);
    const std::vector<double> then = summed(there.tiles);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!(std::abs(now[i] - then[i]) > 0.0)) continue;  // equal, or no number
      ++found.changed;
      keep({.cell = {.query = strip.first + static_cast<std::uint32_t>(i / columns),
                     .key = keys.begin + static_cast<std::uint32_t>(i % columns)},
            .now = now[i] / heads_count,
            .then = then[i] / heads_count},
           found.cells);
    }
  }
  co_return found;
}

ChangedCellsQuestion changed_cells_query(const Selection& selection) {
  ChangedCellsQuestion question{.block = selection.block, .batch = selection.batch, .mean = selection.mean};
  if (selection.mean == HeadMean::None) question.head = selection.head;
  if (selection.mean == HeadMean::Kind) question.block.layer.value = 0;  // the question is the same for every layer
  return question;
}

}  // namespace headlight::app
