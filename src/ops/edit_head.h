#pragma once

#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "ops/attention.h"

namespace headlight::ops {

/// The place of one head's numbers in a tensor [item, …]. Everything is counted in vec4.
struct HeadSlot {
  const DeviceTensor& tensor;
  std::uint32_t at4 = 0;                               ///< token 0's numbers within an item
  std::uint32_t row4 = 0;                              ///< from one token to the next
  std::uint32_t width4 = 0;                            ///< of a token's numbers, padding included
  std::uint32_t first_item = 0, items = 0xffff'ffffU;  ///< those whose numbers are changed, as far as the tensor has them
};
/// Returns the slot of a head in a tensor [item, head, token, d].
HeadSlot head_slot(const DeviceTensor& tensor, std::uint32_t head);
/// Returns the slot of a head in the merged matrix [item, 1, token, heads · padded d_v], `d_v4` vec4 of them the
/// head's.
HeadSlot head_slot(const DeviceTensor& merged, const MergedLayout& layout, std::uint32_t head, std::uint32_t d_v4);

/// The head's numbers of these tokens times a factor, in place.
void scale_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, float factor, Rows rows);

/// A vector [padded d] added to the head's numbers of each of these tokens, or `has_rows` vectors [rows.count, padded d],
/// one for each, in place; their padding must be zero.
void add_to_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const gpu::Buffer& added, Rows rows,
                 bool has_rows = false);

/// The head's numbers of every real token become their mean over the item's real tokens, in place. `ranges` [item, 2] of
/// uint32: the first real token, and one past the last. All rows of the tensor must be up to date.
void average_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const gpu::Buffer& ranges);

/// Dropout of the head's numbers of these tokens, in place (attention/dropout.h).
struct HeadDropout {
  std::uint32_t key = 0, threshold = 0;
  float factor = 1.0f;
  std::uint32_t head = 0;
};
void drop_from_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, const HeadDropout& dropout, Rows rows);

/// One item's head: its numbers of these tokens become those of `source` [rows.count, slot.width4] vec4.
void replace_in_head(gpu::Stream& stream, Kernels& kernels, const HeadSlot& slot, std::uint32_t item,
                     const gpu::Slice& source, Rows rows);

/// Copies these rows of every item of a tensor into another one of its shape.
void copy_rows(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& from, const DeviceTensor& to, Rows rows);

/// Copies these rows of one item into those of every item of `to`; both have one head of one width.
void copy_item(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& from, std::uint32_t item, const DeviceTensor& to,
               Rows rows);

/// sum = factor · x + y in these rows of every item; all three of one shape.
void add_rows(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& x, const DeviceTensor& y, const DeviceTensor& sum,
              Rows rows, float factor = 1.0f);

}  // namespace headlight::ops
