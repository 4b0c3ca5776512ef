#pragma once

#include "model/network.h"

namespace headlight::attribution {

/// Why the residual stream of the network's single stack isn't the sum of what its layers wrote, in one sentence for the
/// user; empty: it is. It is in pre-norm stacks, x ← x + attention(norm(x)), x ← x + mlp(norm(x)), with heads side by side
/// before W_O: GPT-2, OPT, BLOOM, GPT-NeoX (both branches at once), Llama and its relatives.
std::string why_not_additive(const model::Network& network);

/// Why a logit isn't a linear function of the normed last state, likewise; includes why_not_additive().
std::string why_not_attributable(const model::Network& network);

}  // namespace headlight::attribution
