#pragma once

#include "attention/mask.h"
#include "model/network.h"

namespace headlight::inference {

inline constexpr std::size_t kMaxSnippetNumbers = 65'536;

/// A program for PyTorch that computes the same numbers as the network with these masks: every matrix as it is now, one step
/// a line, and at its end each attention's Q, K, V and weights and the output are printed. `title` and `remark` are comments
/// at its top; `remark` says what it doesn't have and may be empty. Throws Error in one line where the network has more than
/// kMaxSnippetNumbers numbers, or a part that notebooks don't have (rotary positions, a gated feed-forward, …).
std::string torch_snippet(std::string_view title, std::string_view remark, const model::Network& network,
                          const model::ModelInput& input, const attention::MaskSet& masks);

}  // namespace headlight::inference
