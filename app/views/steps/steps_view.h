#pragma once

#include "app/cells/step_matrix.h"
#include "app/cells/step_values.h"
#include "app/exports/view_figures.h"
#include "app/frame.h"
#include "app/views/steps/matrix_view.h"
#include "app/views/steps/typed_cell.h"
#include "app/views/view.h"
#include "attention/mask.h"

namespace headlight::app {

/// What the steps keep from frame to frame.
struct StepsMemory {
  std::map<StepMatrix, MatrixScroll> scrolls;
  std::optional<StepCell> pointed;  ///< under the pointer, in this frame
  std::optional<StepCell> held;     ///< its calculation stays when the pointer leaves
  TypedCell typed;
  bool shows_all_terms = false;
  bool catches_wheel = false;             ///< the pointer is over the matrix of the held cell, which scrolls by itself
  StepValues values;                      ///< of the matrices' windows
  StepValues cell;                        ///< of the cell whose calculation is written
  Selection selection;                    ///< that the scrolls and the held cell are of
  std::optional<attention::Cell> pinned;  ///< likewise

  /// A matrix as it was drawn last: its shown part, to which the panel's names belong. The numbers are the tile's.
  struct Drawn {
    StepPanel panel;
    std::shared_ptr<const attention::Tile> tile;
  };
  std::vector<Drawn> drawn;
};

/// The selected head's calculation, matrix by matrix, with the weights between them. The cell under the pointer marks what
/// it is made from, and its arithmetic is written below; a click holds a cell, on a map it pins it too. A double click on a
/// number that a notebook was given opens a field for another one.
void draw_steps_panel(Frame& frame, StepsMemory& memory);

std::unique_ptr<ViewPanel> open_steps_view();

}  // namespace headlight::app
