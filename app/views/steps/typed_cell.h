#pragma once

#include "app/cells/step_matrix.h"
#include "app/cells/step_values.h"
#include "app/frame.h"
#include "view/rect.h"

namespace headlight::app {

/// A cell of one of the steps' matrices.
struct StepCell {
  StepMatrix matrix = attention::Stage::Weights;
  attention::Cell cell;

  bool operator==(const StepCell&) const = default;
};

/// What inference::set_by_name() calls a cell of a notebook's X, Q, K, V or weights: "w_q[3,1]". Empty: it is computed, or
/// of another source.
std::string name_to_type(const Frame& frame, const HeadSubject& subject, const StepCell& cell);

/// A field over a cell, in which its number is typed. Enter puts it into the notebook, Esc and a click elsewhere leave it.
class TypedCell {
 public:
  /// `name`: of name_to_type(). `where`: as it is on screen. `number`: the present one, where it is known.
  void open(std::string name, const StepCell& where, std::optional<float> number);
  void close() { where_.reset(); }
  const std::optional<StepCell>& where() const { return where_; }
  /// Is the point on the field, as it was drawn last?
  bool covers(glm::vec2 point) const { return where_ && area_.contains(point); }
  /// Over the cell. A number that is refused stays in the field, with the reason below it.
  void draw(Frame& frame, const view::Rect& cell);

 private:
  std::optional<StepCell> where_;
  std::string name_, text_, error_;
  view::Rect area_;
  bool takes_keys_ = false, was_active_ = false;
};

}  // namespace headlight::app
