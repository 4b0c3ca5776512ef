#pragma once

#include "app/views/steps/matrix_view.h"
#include "app/widgets/block_layout.h"
#include "app/widgets/cells/cell_sources.h"
#include "app/widgets/head_controls.h"

namespace headlight::app {

/// One matrix of a step and the arrow that leads to it.
struct StepBox {
  MatrixView view;
  std::string operation;  ///< above the arrow, as math_text sets it: "÷ √d_k"; empty: no arrow
  float arrow_x = 0.0F;   ///< where the arrow begins
  bool is_part = false;   ///< one head's columns of a matrix of all heads, which don't scroll
};

/// One step of the calculation, placed: what it is made from beside other stages, its matrix, and its parts of each head.
struct PlacedStep {
  std::vector<StepBox> boxes;
  float height = 0.0F;
};

inline constexpr float kArrowWidth = 58.0F;

using MatrixScrolls = std::map<StepMatrix, MatrixScroll>;

/// Returns the row of a matrix of tokens that is in sight and written out: the chosen token's, else the last one's.
std::uint32_t row_of_interest(const Frame& frame, StepMatrix matrix);

/// Returns rows and columns; nullopt: the layer has no such matrix.
std::optional<inference::BlockShape::Extent> matrix_size(const HeadSubject& subject, StepMatrix matrix);

/// Returns the matrices of a stage's step that exist, the stage itself last.
std::vector<StepMatrix> matrices_of_step(const HeadSubject& subject, attention::Stage stage);

/// Returns "8 **attention weights** $softmax(…)$ …", of draw_rich_text(): the step's number, what it makes and how.
std::string step_sentence(const Frame& frame, const HeadSubject& subject, const BlockPlan& plan, const BlockNode& node);

/// Returns the formula of a matrix, or where its numbers are from, as math_text sets it.
std::string formula_of(const Frame& frame, const HeadSubject& subject, StepMatrix matrix);

/// Lays out a step in a room, wrapped where its matrices don't stand beside each other.
PlacedStep lay_out_step(Frame& frame, const HeadSubject& subject, attention::Stage stage, const MatrixScrolls& scrolls,
                        const chart::Rect& room);

}  // namespace headlight::app
