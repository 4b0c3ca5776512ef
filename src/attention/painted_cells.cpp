#include "attention/painted_cells.h"

#include <algorithm>

namespace headlight::attention {
namespace {

/// Does `run` continue at its end with `next`?
bool joins(const CellRun& run, const CellRun& next) {
  return run.query == next.query && run.is_visible == next.is_visible && run.end_key() == next.first_key;
}

void append(std::vector<CellRun>& runs, const CellRun& run) {
  if (run.count == 0) return;
  if (!runs.empty() && joins(runs.back(), run)) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

/// The first run that ends behind the cell: the one that holds it, or the next one.
std::size_t find_run(std::span<const CellRun> runs, Cell cell) {
  const auto is_before = [&](const CellRun& run) {
    return run.query < cell.query || (run.query == cell.query && run.end_key() <= cell.key);
  };
  return static_cast<std::size_t>(std::ranges::partition_point(runs, is_before) - runs.begin());
}

bool holds(const CellRun& run, Cell cell) {
  return run.query == cell.query && run.first_key <= cell.key && cell.key < run.end_key();
}

/// `runs` with the cell painted as `state`, or without its paint.
std::vector<CellRun> with_cell(std::span<const CellRun> runs, Cell cell, std::optional<bool> state) {
  std::vector<CellRun> result;
  result.reserve(runs.size() + 2);
  const std::size_t at = find_run(runs, cell);
  result.assign(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(at));
  const bool splits = at < runs.size() && holds(runs[at], cell);
  if (splits) {
    const CellRun& run = runs[at];
    append(result, {run.query, run.first_key, cell.key - run.first_key, run.is_visible});
  }
  if (state) append(result, {cell.query, cell.key, 1, *state});
  if (splits) {
    const CellRun& run = runs[at];
    const auto left = static_cast<std::uint32_t>(run.end_key() - cell.key - 1);
    if (left > 0) append(result, {run.query, cell.key + 1, left, run.is_visible});
  }
  for (const CellRun& run : runs.subspan(at + (splits ? 1 : 0))) append(result, run);
  return result;
}

}  // namespace

CellRuns::CellRuns(std::vector<PaintedCell> cells) {
  std::ranges::stable_sort(cells, {}, &PaintedCell::first);
  std::vector<CellRun> runs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto& [cell, is_visible] = cells[i];
    if (i + 1 < cells.size() && cells[i + 1].first == cell) continue;
    append(runs, {cell.query, cell.key, 1, is_visible});
  }
  runs.shrink_to_fit();
  assign(std::move(runs));
}

void CellRuns::paint(Cell cell, bool is_visible) {
  if (state(cell) != is_visible) assign(with_cell(runs(), cell, is_visible));
}

void CellRuns::erase(Cell cell) {
  if (state(cell)) assign(with_cell(runs(), cell, std::nullopt));
}

void CellRuns::paint(std::span<const PaintedCell> cells) {
  std::vector<PaintedCell> all;
  all.reserve(cell_count() + cells.size());
  for_each_cell([&](Cell cell, bool is_visible) { all.emplace_back(cell, is_visible); });
  all.insert(all.end(), cells.begin(), cells.end());
  *this = CellRuns(std::move(all));
}

void CellRuns::erase(std::vector<Cell> cells) {
  std::ranges::sort(cells);
  std::vector<CellRun> left;
  std::size_t erased = 0;
  for_each_cell([&](Cell cell, bool is_visible) {
    if (std::ranges::binary_search(cells, cell)) {
      ++erased;
    } else {
      append(left, {cell.query, cell.key, 1, is_visible});
    }
  });
  if (erased > 0) assign(std::move(left));
}

std::optional<bool> CellRuns::state(Cell cell) const {
  const std::span<const CellRun> all = runs();
  const std::size_t at = find_run(all, cell);
  if (at == all.size() || !holds(all[at], cell)) return std::nullopt;
  return all[at].is_visible;
}

std::size_t CellRuns::cell_count() const {
  std::size_t count = 0;
  for (const CellRun& run : runs()) count += run.count;
  return count;
}

std::span<const CellRun> CellRuns::runs() const {
  return runs_ ? std::span<const CellRun>(*runs_) : std::span<const CellRun>();
}

void CellRuns::assign(std::vector<CellRun> runs) {
  if (runs.empty()) {
    runs_.reset();
  } else {
    runs_ = std::move(runs);
  }
}

std::size_t painted_count(const PaintedCells& painted) {
  std::size_t count = 0;
  for (const auto& [scope, cells] : painted) count += cells.cell_count();
  return count;
}

}  // namespace headlight::attention
