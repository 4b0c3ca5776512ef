#pragma once

#include <cstdint>

#include "attention/mask.h"
#include "model/network.h"

namespace headlight::app {

/// Tokens of a batch item that are no padding; all `length` where the batch doesn't say.
inline attention::KeyRange real_tokens(const model::TokenBatch& tokens, std::uint32_t item, std::uint32_t length) {
  if (item >= tokens.lengths.size()) return {length};
  return {tokens.start(item), tokens.start(item) + tokens.lengths[item]};
}

}  // namespace headlight::app
