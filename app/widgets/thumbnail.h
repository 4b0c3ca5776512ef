#pragma once

#include "app/state/transient.h"
#include "app/widgets/shown_tile.h"
#include "chart/viewport.h"

namespace headlight::app {

/// Returns the rows and columns of a block's maps that are drawn. Padding before or after a line is left out where the text
/// was typed: its rows mean nothing, and its columns are hidden by the padding mask; without that mask they are drawn,
/// because weights go to them.
chart::Region shown_cells(const Frame& frame, model::BlockRef block);

/// Returns the tile of a head's weights, of its shown_cells(), for a thumbnail of at most `edge` UI units. In maps of more
/// than kMaxThumbnailCells it covers a sample of the query rows, so that all heads of a long text cost as much as those of a
/// text of a thousand tokens.
TileQuery thumbnail_request(const Frame& frame, model::BlockRef block, std::uint32_t head, float edge);
inline constexpr std::size_t kMaxThumbnailCells = std::size_t{1} << 22;

/// Returns the reference to the cell, or the square of cells, that the pointer is on, of a thumbnail that shows this tile in
/// `box`.
NumberRef number_under_pointer(const TileQuery& shown, const chart::Rect& box);

/// Returns "128 of 8,192 query rows" for a sampled tile, empty for any other: what a thumbnail says of itself.
std::string sample_in_words(const TileQuery& query);
/// Draws "sampled: 128 of 8192 query rows" with a tooltip that says which numbers are exact.
void draw_sample_note(Frame& frame, const char* name, const std::string& sample);

/// Draws a head's weights in a box, without axes, or what changed of them where maps show differences; the missing colour
/// until the tile is evaluated. `place` names the use.
void draw_thumbnail(Frame& frame, const TileQuery& request, const chart::Rect& box, std::uint32_t place);

/// A head of a view of all heads, as an item: its map, what is changed of it, and the frame of the selected one.
struct HeadThumbnail {
  HeadRef head;
  std::string name;      ///< of the item
  chart::Rect box;       ///< of the map
  float caption = 0.0F;  ///< height of what belongs to the item below the map
  std::uint32_t place = 0;
  std::function<void()> cover = {};  ///< draws over the map; may be empty
};
struct HeadThumbnailEvents {
  bool is_clicked = false, is_hovered = false;
  bool is_selected = false;  ///< before the click
  TileQuery shown;
};
/// Draws a thumbnail; a right click selects the head and opens its menu.
HeadThumbnailEvents draw_head_thumbnail(Frame& frame, const HeadThumbnail& thumbnail);

/// Draws the row and the column of the cell under the pointer, wherever in the window it is, on a thumbnail of a head of the
/// selected kind: of the view's map, of a thumbnail, or of a token's chip.
void draw_lit_cell(const Frame& frame, model::BlockRef block, const chart::Rect& box);
/// Returns the first cell of what the pointer is on; nullopt: no thumbnail.
std::optional<attention::Cell> cell_of(const std::optional<NumberRef>& pointed);

/// Draws the tooltip of a thumbnail: layer, head, what the head does in words (may be empty), concentration and a larger
/// heatmap.
void draw_thumbnail_tooltip(Frame& frame, model::BlockRef block, std::uint32_t head, const std::string& sentence);

/// Draws "prev 0.98" in the lower left corner of a thumbnail; the word alone where that is too narrow, nothing where it
/// would cover much of the map. Marked for tests where it is drawn: "<thumbnail>.badge". Returns whether the pointer is on
/// it.
bool draw_badge(Frame& frame, const std::string& thumbnail, const chart::Rect& box, const std::string& text);

/// Return the queries and the keys of the selected batch item without padding, of a kind of attention or of the selected
/// one.
attention::KeyRange query_range(const Frame& frame, model::BlockKind kind);
attention::KeyRange key_range(const Frame& frame, model::BlockKind kind);
attention::KeyRange query_range(const Frame& frame);
attention::KeyRange key_range(const Frame& frame);

}  // namespace headlight::app
