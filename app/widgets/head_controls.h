#pragma once

#include "app/frame.h"
#include "app/widgets/cells/arithmetic.h"
#include "app/widgets/cells/step_values.h"

namespace headlight::app {

/// Returns the subject of a run that has the selected block.
HeadSubject selected_subject(const Frame& frame);

/// Returns the question about a cell of one of the head's matrices, with the reason why a cell of a map is masked.
CellQuestion question_about(const Frame& frame, const HeadSubject& subject, attention::Stage stage, attention::Cell cell);

/// Returns a token of the selected line as it is shown: "short"; its index where the text isn't known.
std::string token_name(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t index);

/// Draws Encoder | Decoder | Cross, where the network has more than one kind of attention: selects a head of the chosen one.
/// `name`: of the buttons, as in "grid.kind".
void choose_kind(Frame& frame, std::string_view name);

/// Draws a list of all metrics of heads that opens, marked "<name>.<metric>".
void choose_metric(Frame& frame, const std::string& name, const char* explanation, evaluation::HeadMetric& chosen);

/// Draws the selected head, arrows to its neighbours, and its gain: for panels without a map to select heads. One line,
/// or two where that is too narrow.
void draw_head_controls(Frame& frame);

/// Draws the selected head's gain: a factor before W_O that can be dragged, and a button that knocks the head out (0) or
/// restores it (1). At the right of the current line.
void draw_gain_control(Frame& frame);
/// Returns the width of the gain's control in UI units.
float gain_control_width(const Frame& frame);

/// Marks in a thumbnail's corners for a head whose gain isn't 1 or whose pattern is replaced; nothing for others.
void draw_gain_mark(Frame& frame, model::BlockRef block, std::uint32_t head, const chart::Rect& box);

}  // namespace headlight::app
