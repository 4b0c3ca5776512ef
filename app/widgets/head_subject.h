#pragma once

#include "app/cells/arithmetic.h"
#include "app/cells/step_values.h"

namespace headlight::app {

/// Returns the subject of a run that has the selected block.
HeadSubject selected_subject(const Frame& frame);

/// Returns the question about a cell of one of the head's matrices, with the reason why a cell of a map is masked.
CellQuestion question_about(const Frame& frame, const HeadSubject& subject, attention::Stage stage, attention::Cell cell);

/// Returns a token of the selected line as it is shown: "short"; its index where the text isn't known.
std::string token_name(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t index);

}  // namespace headlight::app
