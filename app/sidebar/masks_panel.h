#pragma once

#include "app/widgets/form.h"
#include "attention/expression.h"

namespace headlight::app {

/// The text of an expression's field while it can't be accepted: the state keeps the last text that could.
struct ExpressionDraft {
  bool is_open = false;
  std::string text = {};
  attention::ExpressionError error = {};
  model::BlockKind kind = model::BlockKind::EncoderSelf;  ///< whose mask it is for
  std::string accepted = {};  ///< the state's text meanwhile; another one there, as after undo, ends the draft
};
/// The drafts of the two fields, kept from frame to frame.
struct ExpressionDrafts {
  bool are_shown = false;  ///< since the first expression: the fields stay while one is emptied
  ExpressionDraft mask = {}, score = {};
};

/// Draws the mask's and the score's expression of the selected block's kind: presets, a field for each, under it what is
/// wrong with the text and where, and their sliders; nothing before there is the first expression, by a command or a
/// session. A text that can't be accepted stays in the field and changes nothing else.
void draw_expression_fields(Frame& frame, Form& form, ExpressionDrafts& drafts);

/// Draws the mask of the selected block's kind: rules, fill, expressions, how far a painted cell reaches, and what was
/// painted. `error`: why the mask can't be applied; empty when it can.
void draw_masks_panel(Frame& frame, NumberBeingTyped& typed, ExpressionDrafts& drafts, const std::string& error);

}  // namespace headlight::app
