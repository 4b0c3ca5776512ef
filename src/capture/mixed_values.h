#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capture/numbers.h"

namespace headlight::capture {

/// Head outputs of captured values, on the host: Σⱼ weightⱼ · vⱼ, sums of double precision, rounded once. Not thread-safe.
class MixedValues {
 public:
  /// `values` [batch, kv_heads, n_k, d_v] of attention with `heads` heads, which kv_heads divides.
  MixedValues(std::shared_ptr<const Numbers> values, std::uint32_t heads);

  std::uint32_t width() const { return values_->shape()[3]; }  ///< d_v
  /// Rows of V as a head of queries reads them.
  void read(const Rectangle& cells, float* to) const;
  /// Components [first, first + count) of the mix with one row of a head's weights [n_k]. A key whose weight is 0 has no
  /// part in it, whatever its value is.
  void mix(std::uint32_t item, std::uint32_t head, std::span<const float> weights, std::uint32_t first, std::uint32_t count,
           float* to) const;

 private:
  std::shared_ptr<const Numbers> values_;
  std::uint32_t group_ = 1;            ///< heads that share values
  mutable std::vector<float> loaded_;  ///< [key, d_v] of the item and the KV head that were read last
  mutable std::uint32_t loaded_item_ = 0, loaded_head_ = 0;
};

}  // namespace headlight::capture
