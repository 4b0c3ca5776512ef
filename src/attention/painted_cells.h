#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/shared_value.h"

namespace headlight::attention {

/// The maps that a painted cell changes; nullopt means every one.
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

/// A cell and what was painted onto it.
template <typename Paint>
using Painted = std::pair<Cell, Paint>;
/// True shows the cell, false masks it.
using PaintedCell = Painted<bool>;

/// Neighbouring cells of a row that are painted alike: keys [first_key, first_key + count), count ≥ 1.
template <typename Paint>
struct PaintRun {
  std::uint32_t query = 0;
  std::uint32_t first_key = 0;
  std::uint32_t count = 0;
  Paint paint = {};

  /// One past the last key, which may be 2³².
  std::uint64_t end_key() const { return std::uint64_t{first_key} + count; }
  bool operator==(const PaintRun&) const = default;
};

/// The cells painted in the maps of one scope, as runs of 16 bytes. Copies share the runs; a change copies them, so a change
/// of many cells should be made as one list.
template <typename Paint>
class PaintRuns {
 public:
  PaintRuns() = default;
  PaintRuns(std::initializer_list<Painted<Paint>> cells) : PaintRuns(std::vector<Painted<Paint>>(cells)) {}
  /// Takes cells in any order; where a cell is named twice, the last one counts.
  explicit PaintRuns(std::vector<Painted<Paint>> cells);

  void paint(Cell cell, Paint paint);
  /// Removes the cell's paint, where it has any.
  void erase(Cell cell);
  /// Paint or erase many cells in any order, in the time of one walk over all paint; where a cell is named twice, the
  /// last one counts.
  void paint(std::span<const Painted<Paint>> cells);
  void erase(std::vector<Cell> cells);

  /// Returns the cell's paint; nullopt where it has none.
  std::optional<Paint> state(Cell cell) const;
  /// Is any cell of the row painted?
  bool has_row(std::uint32_t query) const;
  bool empty() const { return !runs_; }
  /// Returns the number of painted cells.
  std::size_t cell_count() const;
  /// Returns the runs of cells sorted by row and key; neighbours with the same paint are one run.
  std::span<const PaintRun<Paint>> runs() const;
  /// Memory that copies of this share, in bytes.
  std::size_t bytes() const { return runs().size_bytes(); }

  /// Calls visit(Cell, Paint) for every painted cell, row by row.
  template <typename Visit>
  void for_each_cell(Visit visit) const {
    for (const PaintRun<Paint>& run : runs()) {
      for (std::uint32_t i = 0; i < run.count; ++i) visit(Cell{run.query, run.first_key + i}, run.paint);
    }
  }

  bool operator==(const PaintRuns&) const = default;

 private:
  void assign(std::vector<PaintRun<Paint>> runs);

  SharedValue<std::vector<PaintRun<Paint>>> runs_;  ///< no value: nothing is painted
};
extern template class PaintRuns<bool>;
extern template class PaintRuns<float>;

/// Cells that are shown or masked.
using CellRun = PaintRun<bool>;
using CellRuns = PaintRuns<bool>;
/// Cells with a number: a bias that is added to their scores, or a weight of a painted pattern.
using NumberRun = PaintRun<float>;
using NumberRuns = PaintRuns<float>;

/// Paint by scope. Where scopes overlap the narrowest one that names the cell counts (scopes compared by how many of layer,
/// batch, head they name).
template <typename Paint>
using PaintByScope = std::map<PaintScope, PaintRuns<Paint>>;
/// Cells shown or masked by hand. They win over every rule.
using PaintedCells = PaintByScope<bool>;
/// Biases: what is added to the scores of cells before the mask and the softmax.
using PaintedBiases = PaintByScope<float>;

/// Returns the paint that the scopes of one map give the cell; nullopt where it has none.
template <typename Paint>
std::optional<Paint> paint_of(const PaintByScope<Paint>& painted, const PaintScope& map, Cell cell);

/// The number of cells painted in all scopes together.
template <typename Paint>
std::size_t painted_count(const PaintByScope<Paint>& painted);

}  // namespace headlight::attention
