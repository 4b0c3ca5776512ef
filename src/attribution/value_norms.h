#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/network.h"

namespace headlight::attribution {

/// ‖v_j W_O^h‖₂ [keys]: the length of what each key's value would add to the residual stream with weight 1. Times the weight
/// it is the norm of what the key does add (Kobayashi et al. 2020, "Attention is Not Only a Weight", eq. 4).
/// `values` [keys, d_v] of the head. Without W_O the length of the value itself. Reads W_O, whose rows must be
/// [d_out, heads·d_v].
std::vector<double> value_norms(const model::AttentionLayer& layer, std::uint32_t head, std::span<const float> values);

}  // namespace headlight::attribution
