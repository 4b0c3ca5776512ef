#pragma once

#include <cstdint>

#include <glm/vec2.hpp>

namespace headlight::app {

/// The layout of one kind of block's thumbnails: lines of equal boxes, a layer's heads wrapped over several lines where
/// that makes them larger, a gutter on the left for the layers' names. The maps fill their lines and are as large as they
/// can be without a scroll bar: with captions as long as these have room, closer together and without captions in a model of
/// many layers and heads, and where that makes them much larger. UI units, from the top left corner of the arrangement.
class ThumbnailLayout {
 public:
  struct Request {
    std::uint32_t groups = 1;     ///< layers; 1 where all heads are in one order
    std::uint32_t per_group = 1;  ///< heads
    float width = 0.0F;           ///< to fill
    float height = 0.0F;          ///< to fit into if possible; 0: any
    float gutter = 0.0F;          ///< left of the thumbnails
    float aspect = 1.0F;          ///< height / width of a map
    float caption = 0.0F;         ///< height below each map
    float caption_width = 24.0F;  ///< of the widest caption
    bool needs_captions = false;  ///< nothing else says which map is which: rather a scroll bar than none
  };
  explicit ThumbnailLayout(const Request& request);

  /// Returns width and height of a map.
  glm::vec2 map_size() const { return map_size_; }
  std::uint32_t per_line() const { return per_line_; }
  /// Returns the upper left corner of a map; the caption is below.
  glm::vec2 box(std::uint32_t group, std::uint32_t index) const;
  float height() const;
  /// Groups and their lines that touch the span [top, bottom): the lines counted through all groups.
  struct Lines {
    std::uint32_t first = 0, end = 0;
  };
  Lines visible_lines(float top, float bottom) const;
  std::uint32_t lines_per_group() const { return lines_per_group_; }
  bool has_captions() const { return has_captions_; }
  float caption() const { return has_captions_ ? request_.caption : 0.0F; }

 private:
  struct Style;

  float group_height() const;
  void apply(const Style& style);
  /// Makes lines of so many maps, which fill the width.
  void set_per_line(std::uint32_t count, float least);
  void set_map_width(float width);
  float shown_aspect() const;
  /// Returns the width of maps that fill the height in lines as they are.
  float width_in_height() const;
  /// Fits the largest maps of the style that need no scroll bar; false: there are none.
  bool fit(const Style& style);
  void spread();
  /// Returns the most maps on a line that the style allows.
  std::uint32_t most_per_line(float least) const;
  float room() const;
  float line_height() const { return map_size_.y + caption() + gap_; }

  Request request_;
  bool has_captions_ = true;
  float gap_ = 0.0F, column_gap_ = 0.0F, group_gap_ = 0.0F;
  std::uint32_t per_line_ = 1, lines_per_group_ = 1;
  glm::vec2 map_size_{0.0F};
};

}  // namespace headlight::app
