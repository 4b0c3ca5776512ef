#pragma once

#include "attention/mask.h"
#include "gpu/stream.h"
#include "inference/intervention.h"
#include "model/reference.h"
#include "ops/edit_head.h"
#include "ops/kernels.h"

namespace headlight::inference {

/// A head of a site of a block.
struct HeadPlace {
  model::BlockRef block;
  model::Site site = model::Site::HeadOutput;
  std::uint32_t head = 0;
};

/// The rows of one head on the device, and what their change needs.
struct DeviceHead {
  HeadPlace place;
  ops::HeadSlot slot;
  std::uint32_t width = 0;  ///< of a token's numbers, without padding
  ops::Rows rows;
  gpu::Stream& stream;
  ops::Kernels& kernels;
  const model::TokenBatch& tokens;    ///< of the rows
  std::optional<std::uint32_t> item;  ///< the batch item whose head it is; none: every item's
  /// Buffers that must live until the stream's work is done are appended.
  std::vector<std::shared_ptr<const gpu::Buffer>>& buffers;
};

/// Records the operation on the head's rows, in place. Throws Error when the device has no memory for its vector.
void apply_operation(const Operation& operation, const DeviceHead& head);

/// The operation on one head of an array [batch, head, token, d] of the reference, in place. `tokens`: of its rows; `only`:
/// the one batch item whose head it is, else every item's.
void apply_operation(const Operation& operation, model::reference::Array& values, const HeadPlace& place,
                     const model::TokenBatch& tokens, std::optional<std::uint32_t> only = {});

/// The interventions as the reference takes them. Both must outlive the result.
model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input);
/// `is_visible` and `edit` (or none) with the patterns of replaced heads. All but these must outlive the results.
model::reference::Visibility reference_visibility(const Interventions& interventions, const model::ModelInput& input,
                                                  const attention::MaskSet& masks, model::reference::Visibility is_visible);
model::reference::ScoreEdit reference_scores(const Interventions& interventions, model::reference::ScoreEdit edit = {});
/// What dropout makes of weights.
model::reference::ScoreEdit reference_weights(const Interventions& interventions);

}  // namespace headlight::inference
