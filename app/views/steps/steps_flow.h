#pragma once

#include "app/views/steps/matrix_view.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/head_controls.h"

namespace headlight::app {

/// One matrix in the flow and the arrow that leads to it.
struct StepBox {
  MatrixView view;
  std::string operation;  ///< above the arrow, as math_text sets it: "÷ √d_k"; empty: no arrow
  float arrow_x = 0.0F;   ///< where the arrow begins
  bool is_part = false;   ///< one head's columns of a matrix of all heads, which don't scroll
};

/// A row of the calculation: "Compare queries with keys".
struct StepSection {
  std::string title;
  float y = 0.0F;
  std::vector<StepBox> boxes;
};

/// The whole calculation, placed.
struct StepFlow {
  std::vector<StepSection> sections;
  float height = 0.0F;
};

inline constexpr float kArrowWidth = 58.0F;

using MatrixScrolls = std::map<StepMatrix, MatrixScroll>;

/// Lays out every matrix that exists in reading order, wrapped at `width`, from `origin` on.
StepFlow lay_out_steps(const Frame& frame, const HeadSubject& subject, const MatrixScrolls& scrolls, glm::vec2 origin,
                       float width);

}  // namespace headlight::app
