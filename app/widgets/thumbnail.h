#pragma once

#include <cstdint>
#include <string>

#include "app/frame.h"
#include "app/widgets/shown_tile.h"

namespace headlight::app {

/// The tile of a head's weights for a thumbnail of at most `edge` UI units.
TileQuery thumbnail_request(const Frame& frame, model::BlockRef block, std::uint32_t head, float edge);

/// A head's weights in a box, without axes, or what changed of them where maps show differences; the missing colour until
/// the tile is evaluated. `place` names the use.
void draw_thumbnail(Frame& frame, const TileQuery& request, const view::Rect& box, std::uint32_t place);

/// The tooltip of a thumbnail: layer, head, what the head does in words (may be empty), concentration and a larger heatmap.
void draw_thumbnail_tooltip(Frame& frame, model::BlockRef block, std::uint32_t head, const std::string& sentence);

/// "prev 0.98" in the lower left corner of a thumbnail; the word alone where that is too narrow, nothing where it would
/// cover much of the map.
/// Marked for tests where it is drawn: "<thumbnail>.badge".
void draw_badge(Frame& frame, const std::string& thumbnail, const view::Rect& box, const std::string& text);

/// "encoder self-attention", or just "self-attention" in a model with a single stack.
const char* kind_name(const Frame& frame, model::BlockKind kind);

/// Queries of the selected batch item without padding.
attention::KeyRange query_range(const Frame& frame, model::BlockKind kind);
/// Keys of the selected batch item without padding.
attention::KeyRange key_range(const Frame& frame, model::BlockKind kind);

}  // namespace headlight::app
