#pragma once

#include "model/config.h"
#include "model/site.h"

namespace headlight::attention {

inline constexpr float kMaxDropout = 0.99f;

/// The rule by which a pass drops numbers of a site (Srivastava et al. 2014): each with the probability, by a hash of
/// its place and the seed, so that the same place is dropped in every pass with this seed, on every device, however the
/// work is divided. shaders/lib/dropout.glsl has the same functions.
struct DropoutPlan {
  std::uint32_t key = 0;        ///< of seed, site, kind of attention and layer
  std::uint32_t threshold = 0;  ///< probability · 2^32
  float factor = 1.0f;          ///< 1 / (1 − probability), of what is kept: the expected value stays

  /// Returns the factor of a number: 0 where it is dropped, else `factor`. For weights `row` is the query and `column`
  /// the key; for vectors they are the token and the number's index. Sites without heads have head 0. Padding counts as
  /// tokens.
  float factor_of(std::uint32_t item, std::uint32_t head, std::uint32_t row, std::uint32_t column) const;

  bool operator==(const DropoutPlan&) const = default;
};

/// `probability`: 0 … kMaxDropout.
DropoutPlan dropout_plan(float probability, std::uint32_t seed, model::Site site, model::BlockRef block);

}  // namespace headlight::attention
