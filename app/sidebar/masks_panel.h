#pragma once

#include "app/sidebar/expression_fields.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// The mask of the selected block's kind: rules, fill, expressions, how far a painted cell reaches, and what was painted.
/// `error`: why the mask can't be applied; empty when it can.
void draw_masks_panel(Frame& frame, NumberBeingTyped& typed, ExpressionDrafts& drafts, const std::string& error);

}  // namespace headlight::app
