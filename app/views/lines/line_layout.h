#pragma once

#include "app/figures/line_set.h"
#include "chart/viewport.h"

namespace headlight::app {

/// Tokens from `begin` up to `end`.
struct TokenSpan {
  std::uint32_t begin = 0, end = 0;

  std::uint32_t count() const { return end - begin; }
  bool operator==(const TokenSpan&) const = default;
};

/// Two columns of tokens, one below the other at equal distances: queries left, keys right, lines between them. UI units,
/// relative to the upper left corner of the visible area.
class LineLayout {
 public:
  struct Sizes {
    std::uint32_t queries = 0, keys = 0;
    glm::vec2 room{0.0F};      ///< of the visible area
    float line_height = 0.0F;  ///< of a label
    /// Widest label of either side, and of what is printed beside labels.
    float query_width = 0.0F, key_width = 0.0F, number_width = 0.0F;
    float scroll = 0.0F;  ///< how much is above the visible area
  };
  explicit LineLayout(const Sizes& sizes);

  /// Returns the height of the whole columns.
  float content_height() const { return pitch_ * static_cast<float>(std::max(sizes_.queries, sizes_.keys)); }
  float pitch() const { return pitch_; }
  /// Returns the middle of a token's label.
  float y_of(std::uint32_t token) const { return (static_cast<float>(token) + 0.5F) * pitch_ - sizes_.scroll; }
  /// Returns the places where lines begin at queries and end at keys.
  float query_x() const { return query_x_; }
  float key_x() const { return key_x_; }
  /// Returns the room for a side's longest label.
  float label_width(MapSide side) const { return side == MapSide::Query ? query_label_ : key_label_; }
  /// Returns the label of a token with the padding around it; labels never overlap.
  chart::Rect label(MapSide side, std::uint32_t token) const;
  /// Returns the first point of what is printed beyond a token's label; it is right-aligned on the queries' side.
  float number_x(MapSide side) const;

  /// Returns the tokens of a side that are visible, at least in part.
  TokenSpan visible(MapSide side) const;
  /// Returns the token whose label is at a point.
  std::optional<LockedToken> token_at(glm::vec2 point) const;
  /// Returns the line at a point between the columns, of several that near the one with the largest weight; nullopt where
  /// there is none. `lines` ascend by weight.
  std::optional<std::size_t> line_at(std::span<const WeightLine> lines, glm::vec2 point) const;
  /// Does a line have a visible part?
  bool is_visible(const WeightLine& line) const;
  /// Returns the scroll at which a token is visible, as near as possible to the present one.
  float scroll_to(std::uint32_t token) const;

 private:
  std::uint32_t count(MapSide side) const { return side == MapSide::Query ? sizes_.queries : sizes_.keys; }

  Sizes sizes_;
  float pitch_ = 0.0F, query_x_ = 0.0F, key_x_ = 0.0F, query_label_ = 0.0F, key_label_ = 0.0F;
};

/// The region of a map [queries, keys] that is asked for to draw the lines of its visible tokens: all of it where it is
/// small, else whole blocks of rows, and of columns too where even those would be many.
struct LineRegion {
  TokenSpan queries, keys;

  bool operator==(const LineRegion&) const = default;
};
LineRegion region_to_ask(std::uint32_t queries, std::uint32_t keys, TokenSpan visible_queries, TokenSpan visible_keys);

}  // namespace headlight::app
