#pragma once

#include <cstdint>

#include "app/frame.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// The tile of a head's weights for a thumbnail of at most `edge` UI units.
TileQuery thumbnail_request(const Frame& frame, model::BlockRef block, std::uint32_t head, float edge);

/// A head's weights in a box, without axes; the missing colour until its tile is evaluated. `place` names the use.
void draw_thumbnail(Frame& frame, const TileQuery& request, const view::Rect& box, std::uint32_t place);

/// The tooltip of a thumbnail: layer, head, concentration and a larger heatmap.
void draw_thumbnail_tooltip(Frame& frame, model::BlockRef block, std::uint32_t head);

/// "encoder self-attention", or just "self-attention" in a model with a single stack.
const char* kind_name(const Frame& frame, model::BlockKind kind);

/// Queries of the selected batch item without padding.
attention::KeyRange query_range(const Frame& frame, model::BlockKind kind);
/// Keys of the selected batch item without padding.
attention::KeyRange key_range(const Frame& frame, model::BlockKind kind);

}  // namespace headlight::app
