#pragma once

#include <cstdint>
#include <span>

#include "model/network.h"

namespace headlight::inference {

/// The index that stands for the counterpart of a token without one.
inline constexpr std::uint32_t kNoCounterpart = 0xffffffffu;

/// Returns for each token of a text its counterpart in another one, in ascending order. Tokens that both have in the
/// same order are counterparts, as many as possible (longest common subsequence). Tokens that stand in one place of
/// both texts but differ are paired from the place's end backwards, since the last token of a word or name sums it up;
/// tokens that are left over have none. Where the texts differ over more than some 2,000 tokens, all that lies between
/// their first and last difference is such a place.
std::vector<std::uint32_t> counterparts(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> other);

/// The counterparts of all tokens of a run's input, padding counted.
struct InputCounterparts {
  using Items = std::vector<std::vector<std::uint32_t>>;  ///< [item][token] index in the other input's item
  Items source, target;                                   ///< target: empty without a decoder

  const Items& queries(model::BlockKind kind) const;
  const Items& keys(model::BlockKind kind) const;
  /// The counterparts of the last stack's tokens, to which predictions belong.
  const Items& predicted() const { return target.empty() ? source : target; }

  bool operator==(const InputCounterparts&) const = default;
};

/// The property by which two tokens are the same: ids of one vocabulary, or spellings, since the playground numbers the
/// words of each text anew.
enum class TokenIdentity : std::uint8_t { Id, Spelling };

/// Null where tokens correspond by their positions: both inputs have as many. Both have as many items, and the same stacks.
std::shared_ptr<const InputCounterparts> input_counterparts(const model::ModelInput& input, const model::ModelInput& other,
                                                            TokenIdentity identity);

/// The other input's tokens by the positions of `input`, as labels of its axes: those without a counterpart are "–", without
/// an id. Without vectors.
model::ModelInput by_positions_of(const model::ModelInput& input, const model::ModelInput& other,
                                  const InputCounterparts& pairs);

/// Has each token of the other input a counterpart?
bool covers(const InputCounterparts& pairs, const model::ModelInput& other);

}  // namespace headlight::inference
