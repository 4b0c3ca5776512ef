#include "app/engine/analyses/changes.h"

#include "app/engine/analyses/analysis.h"
#include "app/engine/analyses/head_metrics.h"
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

namespace {

/// Cells of one step, of each of both runs.
constexpr std::size_t kStepCells = std::size_t{1} << 17;

/// A head while its rows are compared.
struct ComparedHead {
  ChangedHead found;
  std::uint32_t rows = 0;  ///< that both runs have
};

/// Returns requests for all heads' maps, some rows at a time.
std::vector<attention::TileRequest> parts_of(std::uint32_t batch, const AnalysisSubject& subject) {
  std::vector<attention::TileRequest> parts;
  for (const auto& [block, shape] : subject.shapes) {
    if (batch >= shape.batch) throw Error("this run has {} lines", shape.batch);
    const attention::KeyRange queries = real_tokens(subject.input->queries(block.kind), batch, shape.queries);
    const attention::KeyRange keys = real_tokens(subject.input->keys(block.kind), batch, shape.keys);
    const std::uint32_t columns = keys.end - keys.begin;
    if (columns == 0) continue;
    const std::vector<RowStrip> strips = in_parts(measured_rows(queries, columns), kStepCells / columns);
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      for (const RowStrip& strip : strips) parts.push_back(weights_of({.block = block, .head = head}, batch, strip, keys));
    }
  }
  if (parts.empty()) throw Error("this line has no tokens");
  return parts;
}

void compare(const attention::Tile& now, const attention::Tile& then, ComparedHead& compared) {
  const attention::TileRequest& tile = now.request;
  ChangedHead& head = compared.found;
  for (std::uint32_t row = 0; row < tile.rows; ++row) {
    const auto weights = std::span(then.values).subspan(std::size_t{row} * tile.columns, tile.columns);
    if (std::ranges::all_of(weights, [](float weight) { return std::isnan(weight); }))
      continue;  // a query of this text alone
    ++compared.rows;
    for (std::uint32_t key = 0; key < tile.columns; ++key) {
      const float a = now.at(row, key), b = then.at(row, key);
      const double change = std::abs(double{a} - double{b});
      if (!(change > 0.0)) continue;  // equal, or no number
      head.moved += 0.5 * change;
      if (change <= std::abs(double{head.now} - double{head.then})) continue;
      head.cell = {.query = tile.row + row, .key = tile.column + key};
      head.now = a;
      head.then = b;
    }
  }
}

}  // namespace

Task<ChangedHeads> analyse(ChangedHeadsQuestion question, AnalysisSubject subject) {
  const std::vector<attention::TileRequest> parts = parts_of(question.batch, subject);
  std::map<HeadRef, ComparedHead> heads;
  for (std::size_t first = 0; first < parts.size();) {
    Reads of_run;
    std::size_t cells = 0;
    for (std::size_t at = first; at < parts.size(); ++at) {
      cells += parts[at].cells();
      if (at > first && cells > kStepCells) break;
      of_run.tiles.push_back(parts[at]);
    }
    Reads of_baseline{.of = WhichRun::Baseline, .tiles = of_run.tiles};
    const Answers now = co_await std::move(of_run);
    const Answers then = co_await std::move(of_baseline);
    for (std::size_t i = 0; i < now.tiles.size(); ++i, ++first) {
      const HeadRef head{.block = parts[first].block, .head = parts[first].head};
      compare(now.tiles[i], then.tiles[i], heads.try_emplace(head, ComparedHead{.found = {.head = head}}).first->second);
    }
  }
  ChangedHeads found;
  found.all_heads = heads.size();
  for (const auto& [ref, head] : heads) {
    if (head.found.moved == 0.0) continue;
    found.heads.push_back(head.found);
    found.heads.back().moved /= head.rows;
  }
  std::ranges::stable_sort(found.heads, std::greater(), &ChangedHead::moved);
  co_return found;
}

}  // namespace headlight::app
