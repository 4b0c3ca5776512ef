#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/expression.h"
#include "attention/mask.h"
#include "model/network.h"

namespace headlight::inference {

/// How many separators come before each token of its item: [batch·length], the segments of expressions.
std::vector<std::uint32_t> token_segments(const model::TokenBatch& tokens, std::span<const std::uint32_t> separators);

/// How many layers the stack of this kind of attention has.
std::uint32_t layer_count(const model::Network& network, model::BlockKind kind);

/// What a mask's expressions read of the tokens that attend to each other in one kind of attention.
class MaskTokens {
 public:
  /// Network and input must outlive it. Segments are computed where the mask's expressions need them.
  MaskTokens(const model::Network& network, const model::ModelInput& input, model::BlockKind kind,
             const attention::MaskSpec& mask);

  /// [item · token].
  attention::ExpressionTokens all() const;
  /// A map of one block: [token].
  attention::ExpressionMap map(std::uint32_t layer, std::uint32_t item, std::uint32_t head) const;

 private:
  const model::Network& network_;
  model::BlockKind kind_;
  const model::TokenBatch& queries_;
  const model::TokenBatch& keys_;
  std::vector<std::uint32_t> query_segments_, key_segments_;
};

}  // namespace headlight::inference
