#include "evaluation/head_layout.h"

#include <fmt/format.h>

namespace headlight::evaluation {

using model::BlockKind;

std::size_t HeadLayout::count() const {
  return std::size_t{layers} * heads + std::size_t{2} * decoder_layers * decoder_heads;
}

Shape HeadLayout::shape(Shape before, const Shape& after) const {
  const Shape own = has_kinds() ? Shape{static_cast<std::uint32_t>(count())} : Shape{layers, heads};
  before.insert(before.end(), own.begin(), own.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

HeadRef HeadLayout::at(std::size_t place) const {
  const std::size_t first = std::size_t{layers} * heads, of_kind = std::size_t{decoder_layers} * decoder_heads;
  const bool is_encoder = place < first, is_cross = place >= first + of_kind;
  const std::size_t index = place - (is_encoder ? 0 : first) - (is_cross ? of_kind : 0),
                    across = is_encoder ? heads : decoder_heads;
  const BlockKind kind = is_encoder ? BlockKind::EncoderSelf : is_cross ? BlockKind::Cross : BlockKind::DecoderSelf;
  return {.block = {kind, LayerIndex{static_cast<std::uint32_t>(index / across)}},
          .head = static_cast<std::uint32_t>(index % across)};
}

std::size_t HeadLayout::find(model::BlockRef block, std::uint32_t head) const {
  const bool is_encoder = block.kind == BlockKind::EncoderSelf;
  const std::uint32_t rows = is_encoder ? layers : decoder_layers, across = is_encoder ? heads : decoder_heads;
  if (block.layer.value >= rows || head >= across) return count();
  const std::size_t before = is_encoder ? 0 : std::size_t{layers} * heads;
  return before + (std::size_t{block.kind == BlockKind::Cross ? rows : 0} + block.layer.value) * across + head;
}

std::string HeadLayout::name(std::size_t place, char blank) const {
  const HeadRef of = at(place);
  const std::string kind = has_kinds() ? fmt::format("{}{}", model::to_string(of.block.kind), blank) : "";
  return fmt::format("{}L{}H{}", kind, of.block.layer.value, of.head);
}

}  // namespace headlight::evaluation
