#pragma once

#include "app/figures/view_figures.h"
#include "app/frame.h"
#include "app/views/steps/matrix_view.h"
#include "app/views/view.h"
#include "app/widgets/cells/step_matrix.h"
#include "app/widgets/cells/step_values.h"
#include "attention/mask.h"
#include "chart/viewport.h"

namespace headlight::app {

/// A cell of one of the steps' matrices.
struct StepCell {
  StepMatrix matrix = attention::Stage::Weights;
  attention::Cell cell;

  bool operator==(const StepCell&) const = default;
};

/// Returns the name that inference::set_by_name() has for a cell of a notebook's X, Q, K, V or weights: "w_q[3,1]". Empty:
/// the cell is computed, or of another source.
std::string name_to_type(const Frame& frame, const HeadSubject& subject, const StepCell& cell);

/// A field over a cell, in which its number is typed. Enter puts it into the notebook, Esc and a click elsewhere leave it.
class TypedCell {
 public:
  /// Opens the field. `name`: of name_to_type(). `where`: as it is on screen. `number`: the present one, where it is known.
  void open(std::string name, const StepCell& where, std::optional<float> number);
  void close() { where_.reset(); }
  const std::optional<StepCell>& where() const { return where_; }
  /// Is the point on the field, as it was drawn last?
  bool covers(glm::vec2 point) const { return where_ && area_.contains(point); }
  /// Draws the field over the cell. A number that is refused stays in the field, with the reason below it.
  void draw(Frame& frame, const chart::Rect& cell);

 private:
  std::optional<StepCell> where_;
  std::string name_, text_, error_;
  chart::Rect area_;
  bool takes_keys_ = false, was_active_ = false;
};

/// The state of the steps from frame to frame.
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
  std::optional<attention::Cell> pinned;  ///< that the scrolls and the held cell are of

  /// A matrix as it was drawn last: its shown part, to which the panel's names belong. The numbers are the tile's.
  struct Drawn {
    StepPanel panel;
    std::shared_ptr<const attention::Tile> tile;
  };
  std::vector<Drawn> drawn;
};

/// Draws the selected head's calculation, matrix by matrix, with the weights between them. The cell under the pointer marks
/// what it is made from, and its arithmetic is written below; a click holds a cell, on a map it pins it too. A double click
/// on a number that a notebook was given opens a field for another one.
void draw_steps_panel(Frame& frame, StepsMemory& memory);

}  // namespace headlight::app
