#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Are the queries of this kind of attention the target of an encoder–decoder, so that each row writes the next token?
bool rows_write_tokens(const Frame& frame, model::BlockKind kind);

/// Returns the tokens that the model writes at the rows of the selected batch item: row t predicts token t + 1; the last
/// row's is the likeliest prediction (requested here, "…" until it is known). nullopt where rows are named by the tokens
/// that the decoder reads, or aren't a target.
std::optional<std::vector<std::string>> written_tokens(Frame& frame, model::BlockKind kind);

}  // namespace headlight::app
