#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/shared_value.h"

namespace headlight::attention {

/// Which maps a painted cell changes; nullopt means every one.
struct PaintScope {
  std::optional<std::uint32_t> layer = {};
  std::optional<std::uint32_t> batch = {};
  std::optional<std::uint32_t> head = {};

  auto operator<=>(const PaintScope&) const = default;
};

struct Cell {
  std::uint32_t query = 0;
  std::uint32_t key = 0;

  auto operator<=>(const Cell&) const = default;
};

/// A cell and what painting made of it: true shows, false masks.
using PaintedCell = std::pair<Cell, bool>;

/// Neighbouring cells of a row that are painted alike: keys [first_key, first_key + count), count ≥ 1.
struct CellRun {
  std::uint32_t query = 0;
  std::uint32_t first_key = 0;
  std::uint32_t count = 0;
  bool is_visible = false;

  /// One past the last key, which may be 2³².
  std::uint64_t end_key() const { return std::uint64_t{first_key} + count; }
  bool operator==(const CellRun&) const = default;
};

/// The cells painted in the maps of one scope, as runs of 16 bytes. Copies share the runs; a change copies them, so a change
/// of many cells should be made as one list.
class CellRuns {
 public:
  CellRuns() = default;
  CellRuns(std::initializer_list<PaintedCell> cells) : CellRuns(std::vector<PaintedCell>(cells)) {}
  /// In any order; of a cell that is named twice the last one counts.
  explicit CellRuns(std::vector<PaintedCell> cells);

  /// Shows (true) or masks the cell.
  void paint(Cell cell, bool is_visible);
  /// Takes the cell's paint away, where it has any.
  void erase(Cell cell);
  /// The same for many cells in any order, in the time of one walk over all; of a cell that is named twice the last
  /// one counts.
  void paint(std::span<const PaintedCell> cells);
  void erase(std::vector<Cell> cells);

  /// What the cell was painted as; nullopt where it isn't.
  std::optional<bool> state(Cell cell) const;
  bool empty() const { return !runs_; }
  /// How many cells are painted.
  std::size_t cell_count() const;
  /// Sorted by row and key; no two that could be one.
  std::span<const CellRun> runs() const;
  /// Memory that copies of this share, in bytes.
  std::size_t bytes() const { return runs().size_bytes(); }

  /// Calls visit(Cell, bool is_visible) for every painted cell, row by row.
  template <typename Visit>
  void for_each_cell(Visit visit) const {
    for (const CellRun& run : runs()) {
      for (std::uint32_t i = 0; i < run.count; ++i) visit(Cell{run.query, run.first_key + i}, run.is_visible);
    }
  }

  bool operator==(const CellRuns&) const = default;

 private:
  void assign(std::vector<CellRun> runs);

  SharedValue<std::vector<CellRun>> runs_;  ///< no value: nothing is painted
};

/// Cells set by hand. They win over every rule; a narrower scope wins over a wider one (scopes compared by how many of
/// layer, batch, head they name).
using PaintedCells = std::map<PaintScope, CellRuns>;

/// The number of cells painted in all scopes together.
std::size_t painted_count(const PaintedCells& painted);

}  // namespace headlight::attention
