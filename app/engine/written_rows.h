#pragma once

#include <cstdint>

#include "model/network.h"

namespace headlight::app {

/// Are the queries of this kind of attention a target, so that each row writes the next token?
bool rows_write_tokens(const model::ModelInput& input, model::BlockKind kind);

/// What each row of a target's batch item writes: row t the token t + 1, the last real row "…", because the text doesn't
/// contain its token. Padding keeps its labels.
std::vector<std::string> written_texts(const model::TokenBatch& target, std::uint32_t batch);

}  // namespace headlight::app
