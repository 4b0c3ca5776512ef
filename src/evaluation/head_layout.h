#pragma once

#include <string>

#include "core/tensor.h"
#include "model/config.h"

namespace headlight::evaluation {

/// One head of a network.
struct HeadRef {
  model::BlockRef block;
  std::uint32_t head = 0;

  auto operator<=>(const HeadRef&) const = default;
};

/// The heads of which something is known, in a row: those of the only stack, or of the encoder, by layer and head, then
/// those of the decoder's self-attention and of cross-attention likewise. A head's index in that row is its place.
struct HeadLayout {
  std::uint32_t layers = 0, heads = 0;
  std::uint32_t decoder_layers = 0, decoder_heads = 0;  ///< of either kind in the decoder; 0: these aren't known

  bool has_kinds() const { return decoder_layers > 0; }
  std::size_t count() const;
  /// [before…, layer, head, after…]; of several kinds [before…, place, after…].
  Shape shape(Shape before, const Shape& after = {}) const;
  HeadRef at(std::size_t place) const;
  /// The place of a head; count(): it isn't among them.
  std::size_t find(model::BlockRef block, std::uint32_t head) const;
  /// "L5H1"; of several kinds "cross L5H1", or with another character between.
  std::string name(std::size_t place, char blank = ' ') const;

  bool operator==(const HeadLayout&) const = default;
};

}  // namespace headlight::evaluation
