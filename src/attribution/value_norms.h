#pragma once

#include <cstdint>
#include <span>

#include "model/network.h"

namespace headlight::attribution {

/// ‖v_j W_O^h‖₂: the length of what each key's value would add to the residual stream with weight 1. Times the weight it is
/// the norm of what the key does add (Kobayashi et al. 2020, "Attention is Not Only a Weight", eq. 4). b_O belongs to no
/// key, and a norm of the attention's output (BranchNorms::inside) comes later: neither is part of it. Without W_O the
/// length of the value itself.
///
/// ‖v W‖² = v (W Wᵀ) vᵀ, so W_O, whose rows must be [d_out, heads·d_v], is read once and not for every value; of heads wider
/// than 256 the product would take more than the values themselves, and W_O is read each time. Not thread-safe.
class ValueNorms {
 public:
  /// `head`: whose columns of W_O, head·d_v and what follows, the values meet.
  ValueNorms(const model::AttentionLayer& layer, std::uint32_t head);

  /// Computes the next part of W_O W_Oᵀ, some 10 ms of arithmetic. Returns whether all of it is known.
  bool prepare();
  /// [keys] of `values` [keys, d_v]; only after prepare() has returned true. A value with a NaN has the norm NaN.
  std::vector<double> of(std::span<const float> values) const;
  /// Multiply-adds for one key.
  std::size_t work_per_key() const { return std::size_t{d_v_} * (is_wide() ? weight_.axis(0) : d_v_); }

 private:
  bool is_wide() const { return d_v_ > 256 && !weight_.is_empty(); }
  std::vector<double> squares_of_wide(std::span<const float> values) const;

  model::Parameter weight_;  ///< W_O; empty: there is none
  std::uint32_t head_ = 0, d_v_ = 0;
  std::uint32_t row_ = 0;         ///< of W_O: those before it are in the product
  std::vector<double> products_;  ///< [d_v, d_v] W Wᵀ, its upper triangle
};

}  // namespace headlight::attribution
