#pragma once

#include "app/figures/view_figures.h"
#include "app/frame.h"
#include "app/views/steps/matrix_view.h"
#include "app/views/view.h"
#include "app/widgets/block_flow.h"
#include "app/widgets/cells/step_matrix.h"
#include "app/widgets/cells/step_values.h"

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
  bool is_in_strip = false;         ///< it is
  std::optional<StepCell> held;     ///< its calculation stays when the pointer leaves
  TypedCell typed;
  std::string aimed;                            ///< the matrix that a lesson's card points at
  std::optional<attention::Stage> aimed_stage;  ///< whose step has it: unfolded until another one is chosen
  std::string opened;                           ///< State::opened_matrix in the last frame
  bool shows_all_terms = false;
  bool has_strip = false;                 ///< a cell was explained once: its arithmetic keeps the room below the matrix
  bool catches_wheel = false;             ///< the pointer is over the matrix of the held cell, which scrolls by itself
  BlockWalk walk;                         ///< at its end: the strip shows all matrices
  std::string hovered;                    ///< id of the strip's matrix under the pointer
  std::optional<StepCell> explained;      ///< in the last frame, and what it is made of is framed in the strip
  StepValues values;                      ///< of the matrices' windows
  StepValues cell;                        ///< of the cell whose calculation is written
  Selection selection;                    ///< that the scrolls and the held cell are of
  std::optional<attention::Cell> pinned;  ///< that the scrolls and the held cell are of

  std::optional<StepCell> centered;  ///< on which the strip was clicked, until the unfolded matrix shows it

  /// A matrix of the last frame, for the figure.
  struct Drawn {
    attention::Stage stage = attention::Stage::X;  ///< of a weight the one that it makes
    QuantityId of = attention::Stage::X;           ///< the stage, or its difference
    std::string weight = {};                       ///< "W_Q"; empty: it is a stage
    chart::Region whole = {}, shown = {};
    std::shared_ptr<const attention::Tile> tile = {};
    float reach = 0.0F;  ///< shared_reach() of the unfolded one; 0: the numbers have a range of their own
  };
  std::vector<Drawn> drawn;
  std::shared_ptr<const model::ModelInput> input;  ///< whose tokens are the drawn matrices' rows
  chart::ColorMap color_map = chart::ColorMap::Viridis;
};

/// Returns a cell of a matrix of all heads as one of its head's, which the subject is then of; any other cell as it is.
StepCell in_its_head(HeadSubject& subject, const StepCell& cell);
/// Draws the calculation of a cell in a strip of this height. A double click on the cell under the pointer opens the field
/// in which a notebook's number is typed.
void draw_calculation(Frame& frame, HeadSubject subject, const std::optional<StepCell>& cell, float height,
                      StepsMemory& memory);

/// Returns the drawn matrices as a figure; null: there are none.
std::unique_ptr<exporting::Drawing> make_steps_figure(const StepsMemory& memory, const std::string& title);

/// A row of a stage's matrix.
struct WrittenRow {
  attention::Stage stage = attention::Stage::Weights;
  std::uint32_t row = 0;
};
/// Draws a row in words and numbers, from the cursor on: of weights the softmax's maximum and sum, and the numbers as bars,
/// the largest first, as many as fit the height; then how many are left, and how large those are.
void draw_written_row(Frame& frame, const HeadSubject& subject, const WrittenRow& row, float height);

/// Draws the selected head's calculation as one picture: all matrices small, in order, and one of them large with the
/// weights that make it; a click, Page Up and Page Down unfold another one. The cell under the pointer marks what it is made
/// from, and its arithmetic is written beside or below; a click holds a cell, on a map it pins it too. A double click on a
/// number that a notebook was given opens a field for another one.
void draw_steps_panel(Frame& frame, StepsMemory& memory);

}  // namespace headlight::app
