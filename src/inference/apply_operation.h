#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "attention/mask.h"
#include "gpu/stream.h"
#include "inference/intervention.h"
#include "model/network.h"
#include "model/site.h"
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

/// Why an operation is impossible at a site whose rows have so many numbers, or an empty text.
std::string complaint(const Operation& operation, std::uint32_t width);

/// Records the operation on the head's rows, in place. Throws Error when the device has no memory for its vector.
void apply_operation(const Operation& operation, const DeviceHead& head);

}  // namespace headlight::inference
