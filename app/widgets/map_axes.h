#pragma once

#include "app/frame.h"
#include "app/shapes/quantities/grouped_map.h"

namespace headlight::app {

/// The tokens on one side of a map; `real` of them aren't padding.
struct AxisTokens {
  const std::vector<std::string>* texts = nullptr;  ///< may be null or shorter than the map: then indices are shown
  std::uint32_t count = 0;
  attention::KeyRange real = 0;
  const char* name = "";                          ///< of the axis: "query", "key"
  bool has_indices = false;                       ///< each label begins with its token's number, from 0
  const capture::PatchImages* patches = nullptr;  ///< thumbnails beside the labels of their tokens; null or empty: none
  std::span<const model::TokenSpan> bands = {};   ///< named bars between labels and cells: turns of a chat

  std::string label(std::uint32_t index) const;
};

/// Returns the tokens of the selected line of a batch.
AxisTokens axis_tokens(const Frame& frame, const model::TokenBatch& tokens, std::uint32_t count, attention::KeyRange real,
                       const char* name);

/// Returns the width left of the cells and the height above them that labels and the axes' names need, UI units. `room`: for
/// labels and cells together. Doesn't depend on zoom or pointer, so that the map doesn't move.
glm::vec2 measure_axes(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, glm::vec2 room);

/// Returns the room that slanted labels of the last columns need at the right of the cells, UI units; 0 where labels are
/// level or upright.
float measure_overhang(const Frame& frame, const AxisTokens& queries, const AxisTokens& keys, glm::vec2 margins,
                       glm::vec2 room);

/// A row and a column whose labels are highlighted and always shown.
struct MarkedLabels {
  std::optional<std::uint32_t> query, key;
};

/// Draws labels of the visible rows and columns: at 0° where they fit, else 45°, else 90°, thinned out with their indices
/// where not all have room; they never overlap.
void draw_axes(const Frame& frame, const chart::Viewport& viewport, glm::vec2 margins, const AxisTokens& queries,
               const AxisTokens& keys, const MarkedLabels& marked);

/// Room that the bars need right of the map and below it.
inline constexpr float kMarginalRoom = 40.0F;

/// Draws bars beside the visible rows and below the visible columns of a map: how much a query gives to other tokens, from 0
/// to 1, and the mean that a key receives, up to the largest of the map, with that number. Explains the bar under the
/// pointer.
void draw_marginals(Frame& frame, const chart::Viewport& viewport, const Marginals& marginals);

}  // namespace headlight::app
