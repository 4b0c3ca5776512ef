#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/mask.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "ops/mask_data.h"

namespace headlight::attention {

/// The maps of one block that a mask is packed for.
struct MaskExtent {
  std::uint32_t layer = 0;
  std::uint32_t batch = 0;
  std::uint32_t heads = 0;
  std::uint32_t queries = 0;
  std::uint32_t keys = 0;
};

/// A MaskSpec on the device: the rule stays numbers, key lengths and the cells of matrices and painted masks become words.
/// Maps that deny or allow the same cells share one plane, so that a matrix for all heads is there once.
struct DeviceMask {
  gpu::Buffer words;
  ops::MaskData data;  ///< data.words is set by mask_data(), because the buffer may move
};
DeviceMask upload_mask(gpu::Stream& stream, const MaskSpec& mask, const MaskExtent& extent,
                       std::span<const std::uint32_t> key_lengths);

/// As ops take it.
ops::MaskData mask_data(const DeviceMask& mask);

}  // namespace headlight::attention
