#include "attention/painted_cells.h"

#include <algorithm>

namespace headlight::attention {
namespace {

/// Does `run` continue at its end with `next`?
template <typename Paint>
bool joins(const PaintRun<Paint>& run, const PaintRun<Paint>& next) {
  return run.query == next.query && run.paint == next.paint && run.end_key() == next.first_key;
}

template <typename Paint>
void append(std::vector<PaintRun<Paint>>& runs, const PaintRun<Paint>& run) {
  if (run.count == 0) return;
  if (!runs.empty() && joins(runs.back(), run)) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

/// The first run that ends after the cell: the one that holds it, or the next one.
template <typename Paint>
std::size_t find_run(std::span<const PaintRun<Paint>> runs, Cell cell) {
  const auto is_before = [&](const PaintRun<Paint>& run) {
    return run.query < cell.query || (run.query == cell.query && run.end_key() <= cell.key);
  };
  return static_cast<std::size_t>(std::ranges::partition_point(runs, is_before) - runs.begin());
}

template <typename Paint>
bool holds(const PaintRun<Paint>& run, Cell cell) {
  return run.query == cell.query && run.first_key <= cell.key && cell.key < run.end_key();
}

/// `runs` with the cell painted as `state`, or without its paint.
template <typename Paint>
std::vector<PaintRun<Paint>> with_cell(std::span<const PaintRun<Paint>> runs, Cell cell, std::optional<Paint> state) {
  std::vector<PaintRun<Paint>> result;
  result.reserve(runs.size() + 2);
  const std::size_t at = find_run(runs, cell);
  result.assign(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(at));
  const bool splits = at < runs.size() && holds(runs[at], cell);
  if (splits) {
    const PaintRun<Paint>& run = runs[at];
    append(result, {run.query, run.first_key, cell.key - run.first_key, run.paint});
  }
  if (state) append(result, {cell.query, cell.key, 1, *state});
  if (splits) {
    const PaintRun<Paint>& run = runs[at];
    const auto left = static_cast<std::uint32_t>(run.end_key() - cell.key - 1);
    if (left > 0) append(result, {run.query, cell.key + 1, left, run.paint});
  }
  for (const PaintRun<Paint>& run : runs.subspan(at + (splits ? 1 : 0))) append(result, run);
  return result;
}

}  // namespace

template <typename Paint>
PaintRuns<Paint>::PaintRuns(std::vector<Painted<Paint>> cells) {
  std::ranges::stable_sort(cells, {}, &Painted<Paint>::first);
  std::vector<PaintRun<Paint>> runs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& [cell, paint] = cells[i];
    if (i + 1 < cells.size() && cells[i + 1].first == cell) continue;
    append(runs, {cell.query, cell.key, 1, paint});
  }
  runs.shrink_to_fit();
  assign(std::move(runs));
}

template <typename Paint>
void PaintRuns<Paint>::paint(Cell cell, Paint paint) {
  if (state(cell) != paint) assign(with_cell<Paint>(runs(), cell, paint));
}

template <typename Paint>
void PaintRuns<Paint>::erase(Cell cell) {
  if (state(cell)) assign(with_cell<Paint>(runs(), cell, std::nullopt));
}

template <typename Paint>
void PaintRuns<Paint>::paint(std::span<const Painted<Paint>> cells) {
  std::vector<Painted<Paint>> all;
  all.reserve(cell_count() + cells.size());
  for_each_cell([&](Cell cell, Paint paint) { all.emplace_back(cell, paint); });
  all.insert(all.end(), cells.begin(), cells.end());
  *this = PaintRuns(std::move(all));
}

template <typename Paint>
void PaintRuns<Paint>::erase(std::vector<Cell> cells) {
  std::ranges::sort(cells);
  std::vector<PaintRun<Paint>> left;
  std::size_t erased = 0;
  for_each_cell([&](Cell cell, Paint paint) {
    if (std::ranges::binary_search(cells, cell)) {
      ++erased;
    } else {
      append(left, {cell.query, cell.key, 1, paint});
    }
  });
  if (erased > 0) assign(std::move(left));
}

template <typename Paint>
std::optional<Paint> PaintRuns<Paint>::state(Cell cell) const {
  const std::span<const PaintRun<Paint>> all = runs();
  const std::size_t at = find_run(all, cell);
  if (at == all.size() || !holds(all[at], cell)) return std::nullopt;
  return all[at].paint;
}

template <typename Paint>
bool PaintRuns<Paint>::has_row(std::uint32_t query) const {
  const std::span<const PaintRun<Paint>> all = runs();
  const std::size_t at = find_run(all, {query, 0});
  return at < all.size() && all[at].query == query;
}

template <typename Paint>
std::size_t PaintRuns<Paint>::cell_count() const {
  std::size_t count = 0;
  for (const PaintRun<Paint>& run : runs()) count += run.count;
  return count;
}

template <typename Paint>
std::span<const PaintRun<Paint>> PaintRuns<Paint>::runs() const {
  return runs_ ? std::span<const PaintRun<Paint>>(*runs_) : std::span<const PaintRun<Paint>>();
}

template <typename Paint>
void PaintRuns<Paint>::assign(std::vector<PaintRun<Paint>> runs) {
  if (runs.empty()) {
    runs_.reset();
  } else {
    runs_ = std::move(runs);
  }
}

template class PaintRuns<bool>;
template class PaintRuns<float>;

template <typename Paint>
std::optional<Paint> paint_of(const PaintByScope<Paint>& painted, const PaintScope& map, Cell cell) {
  if (painted.empty()) return std::nullopt;
  // A scope names some of layer, batch and head, which are bits here: scopes with three come first, then two, one,
  // none.
  static constexpr std::uint32_t kLayer = 4, kBatch = 2, kHead = 1;
  for (const std::uint32_t names :
       {kLayer | kBatch | kHead, kLayer | kBatch, kLayer | kHead, kBatch | kHead, kLayer, kBatch, kHead, 0u}) {
    PaintScope scope;
    if (names & kLayer) scope.layer = map.layer;
    if (names & kBatch) scope.batch = map.batch;
    if (names & kHead) scope.head = map.head;
    const auto cells = painted.find(scope);
    if (cells == painted.end()) continue;
    if (const std::optional<Paint> state = cells->second.state(cell)) return state;
  }
  return std::nullopt;
}
template std::optional<bool> paint_of(const PaintedCells&, const PaintScope&, Cell);
template std::optional<float> paint_of(const PaintedBiases&, const PaintScope&, Cell);

template <typename Paint>
std::size_t painted_count(const PaintByScope<Paint>& painted) {
  std::size_t count = 0;
  for (const auto& [scope, cells] : painted) count += cells.cell_count();
  return count;
}
template std::size_t painted_count(const PaintedCells&);
template std::size_t painted_count(const PaintedBiases&);

}  // namespace headlight::attention
