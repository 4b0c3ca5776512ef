#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Cells of a map that were drawn: those of the queries from `first_query` on and the keys from `first_key` on.
struct DrawnPattern {
  std::uint32_t first_query = 0, first_key = 0;
  std::uint32_t queries = 0, keys = 0;
  std::vector<std::uint8_t> cells = {};  ///< [query, key], 1 where the pattern has the cell

  std::uint8_t& at(std::uint32_t row, std::uint32_t column) { return cells[std::size_t{row} * keys + column]; }
  std::uint8_t at(std::uint32_t row, std::uint32_t column) const { return cells[std::size_t{row} * keys + column]; }
};

/// A mask's expression (attention/expression.h) that is true in the pattern's cells and in no other cell of this region:
/// diagonals, columns and rows, the longest first. What reaches the end of the region goes on beyond it. Empty where no
/// cell is drawn; nullopt where no expression is that long.
std::optional<std::string> formula_of(const DrawnPattern& pattern);

/// The first queries and keys of the selected line as a map to draw on: it shows where a pattern's formula is true, and what
/// is drawn becomes a formula.
class PatternPad {
 public:
  inline static constexpr std::uint32_t kMax = 32;  ///< queries and keys

  /// `formula`: of the pattern, or empty. Returns another one when the user has drawn cells or taken some away.
  std::optional<std::string> draw(Frame& frame, const std::string& formula);

 private:
  /// What the cells depend on.
  struct Of {
    std::uint64_t run = 0;
    model::BlockRef block;
    std::uint32_t batch = 0, head = 0;
    std::string formula;

    bool operator==(const Of&) const = default;
  };
  void update(const Frame& frame, const std::string& formula);
  void draw_cells(const Frame& frame, const chart::Rect& box, float cell) const;
  /// Draws or takes away what the pointer passes while it is held.
  void follow_pointer(Frame& frame, const chart::Rect& box, float cell);

  std::optional<Of> of_;
  DrawnPattern pattern_;
  std::vector<std::uint8_t> hidden_;  ///< [query, key], 1 where the mask hides the cell
  std::optional<std::uint8_t> ink_;   ///< what the stroke makes of cells; none while nothing is drawn
  bool is_too_long_ = false;          ///< no formula has the cells that were drawn last
};

}  // namespace headlight::app
