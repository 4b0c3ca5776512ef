#pragma once

#include "attention/mask.h"
#include "inference/intervention.h"
#include "model/network.h"
#include "ops/device_tensor.h"

namespace headlight::inference {

/// The values that a pass is computed from.
struct PassInputs {
  std::shared_ptr<const model::Network> network;
  model::ModelInput input;
  attention::MaskSet masks = {};
  Interventions interventions = {};
};

/// The tokens that each layer of a stack computes; the others are taken over from the base.
struct StackPlan {
  std::uint32_t capacity = 0;     ///< tokens that the stack's tensors have room for
  ops::Rows embedded;             ///< token vectors
  std::vector<ops::Rows> layers;  ///< [layer]
  /// In a pass of copies, the number of first layers that the pass neither computes nor has; it begins with the base's
  /// state after them.
  std::uint32_t copied_layers = 0;

  bool computes_nothing() const;
};
struct PassPlan {
  StackPlan encoder, decoder;
  /// [decoder layer] The source's tokens whose keys and values its cross-attention computes.
  std::vector<ops::Rows> memory;

  bool computes_nothing() const;
  std::uint32_t reused_tokens() const;
  std::uint32_t reused_layers() const;
};

/// Compares with the base (null: there is none): tokens before the first edit are kept where no earlier token can see a
/// later one, layers before the first one that a changed mask or intervention touches are kept whole.
PassPlan plan_pass(const PassInputs& now, const PassInputs* before);

/// Plans a pass of copies_of(): its layers from the first one on that any copy changes.
PassPlan plan_copies(const PassInputs& copies);

}  // namespace headlight::inference
