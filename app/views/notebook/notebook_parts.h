#pragma once

#include "app/engine/analyses/notebook_cells.h"
#include "app/frame.h"
#include "app/shapes/grid.h"
#include "app/shapes/table.h"

namespace headlight::app {

/// How many numbers a cell prints, and how many of ours are these.
struct PrintedCount {
  std::size_t printed = 0, equal = 0;

  PrintedCount& operator+=(const PrintedCount& other) {
    printed += other.printed;
    equal += other.equal;
    return *this;
  }
};
PrintedCount count_equal(const inference::NotebookCell& cell, const NotebookFound::Cell& found);

/// Returns the printed number at a place of a part; null: nothing is printed there.
const inference::PrintedNumber* printed_at(const inference::NotebookPart& part, std::size_t number);
/// Returns our number as it is written beside the printed one.
std::string our_text(const inference::NotebookPart& part, const inference::NotebookNumbers& ours, std::size_t number);
/// "batch 0, head 1, query 2, key 0"
std::string place_in_words(const inference::NotebookNumbers& ours, std::size_t number);
/// "[batch 2, head 2, query 3, key 3]"
std::string axes_in_words(const inference::NotebookPart& part, const inference::NotebookNumbers& ours);
/// Every number of these cells: "cell,title,tensor,row,column,printed,ours,units off".
Table cells_table(std::span<const inference::NotebookCell* const> cells, const NotebookFound& found);
/// Our numbers of a part as a grid.
Grid grid_of(const inference::NotebookPart& part, const inference::NotebookNumbers& ours);

/// One part as a table: what the notebook prints, ours, and by how much they differ.
struct NumberTable {
  const inference::NotebookPart& part;
  const inference::NotebookNumbers& ours;
  std::string name;    ///< its numbers are marked "<name>.<number>"
  bool is_own = true;  ///< the state is the notebook's; else what is printed is dimmed and nothing is compared
  std::optional<std::size_t> chosen = {};
};
struct NumberTableEvents {
  std::optional<std::size_t> hovered, clicked;  ///< number
  float width = 0.0F;                           ///< that the table takes
};
/// Draws printed, ours and difference side by side, or below each other where the region is narrow.
NumberTableEvents draw_numbers(Frame& frame, const NumberTable& table);

/// Do two cells have the same pass?
bool is_of_recipe(const inference::NotebookCell& cell, const inference::NotebookCell& other);

/// The cells of a notebook, in its order.
class NotebookList {
 public:
  /// Draws them into the current child region, and returns the index of the one that a click or a key chooses, else that of
  /// the chosen one. `found`: numbers of the cells that belong to the pass on screen; null: not known.
  std::size_t draw(Frame& frame, const inference::NotebookPage& page, const inference::NotebookCell& chosen,
                   const NotebookFound* found, bool is_own);

 private:
  /// Returns whether it was clicked.
  bool draw_entry(Frame& frame, const inference::NotebookCell& cell, const inference::NotebookCell& chosen,
                  const NotebookFound* found, bool is_own);

  std::string last_shown_;  ///< the cell that was scrolled to
};

}  // namespace headlight::app
