#pragma once

#include "attention/mask_words.h"

namespace headlight::attention {

/// Appends the numbers painted onto the block's maps as shaders/lib/paint.glsl reads them: biases, and the weights of
/// painted patterns. Returns the word where their table begins; 0 where no map has any. 12 bytes a slot, 2.25 slots a cell.
std::uint32_t append_paint(std::vector<std::uint32_t>& words, const MaskSpec& mask, const MaskExtent& extent);

/// Appends which keys each query's document has, 8 bytes a query. Returns the word where they begin; 0: all is one document.
std::uint32_t append_documents(std::vector<std::uint32_t>& words, const MaskSpec& mask, const MaskExtent& extent);

}  // namespace headlight::attention
