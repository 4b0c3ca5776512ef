#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attention/mask.h"
#include "model/network.h"
#include "ops/rows.h"

namespace headlight::inference {

/// Heads scaled by a factor before W_O: 0 knocks a head out (its bias in b_O stays). Heads that aren't named have 1.
using HeadGains = std::map<std::pair<model::BlockRef, std::uint32_t>, float>;

/// What a pass was computed from.
struct PassInputs {
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  attention::MaskSet masks = {};
  HeadGains gains = {};
};

/// Which tokens each layer of a stack computes; the others are what the pass before left.
struct StackPlan {
  std::uint32_t capacity = 0;     ///< tokens that the stack's tensors have room for
  ops::Rows embedded;             ///< token vectors
  std::vector<ops::Rows> layers;  ///< [layer]

  bool computes_nothing() const;
};
struct PassPlan {
  StackPlan encoder, decoder;

  std::uint32_t reused_tokens() const;
  std::uint32_t reused_layers() const;
};

/// Compares with the pass before (if it may be used): tokens before the first edit are kept where no earlier token can see a
/// later one, layers before the first change of mask or gain are kept whole.
PassPlan plan_pass(const PassInputs& now, const PassInputs* before);

}  // namespace headlight::inference
