#pragma once

#include <optional>

#include "app/shell/frame_tiles.h"

struct ImDrawCmd;
struct ImDrawData;
struct ImDrawList;

namespace headlight::shell {

/// The drawing of a draw list's callback, so that frames can be compared: the callback's data points to one.
struct DrawnByCallback {
  PixelRect pixels;           ///< at most these, inside of the command's clip rectangle
  std::uint64_t content = 0;  ///< a hash of all else that the pixels depend on
};

/// The triangles and callbacks of a frame that is laid out in pixels (see draw_data.h), with the pixels of each.
class DrawnShapes {
 public:
  /// Reads the draw lists, and makes every command's clip rectangle the whole pixels that ImGui's backend draws of it.
  void read(ImDrawData& data);
  /// Adds every shape in the order of drawing.
  void add_to(FrameTiles& tiles) const;
  /// Cuts the draw lists, so that they draw the same pixels inside the rectangles, which have none in common, and none
  /// outside.
  void cut(ImDrawData& data, const std::vector<PixelRect>& rects) const;

 private:
  struct Shape {
    PixelRect pixels;
    std::uint64_t content = 0;
    std::uint32_t first = 0, end = 0;  ///< indices of the draw list
  };
  struct Command {
    std::size_t first = 0, end = 0;  ///< shapes
  };
  struct Range {
    std::uint32_t first = 0, end = 0;  ///< indices
  };

  void read_callback(const ImDrawCmd& command, const PixelRect& scissor);
  void read_triangles(const ImDrawList& list, const ImDrawCmd& command, const PixelRect& scissor);
  /// Returns the indices from the first to the last shape of the command that has pixels in the rectangle.
  std::optional<Range> range_in(const Command& command, const PixelRect& rect) const;

  std::vector<Shape> shapes_;
  std::vector<Command> commands_;  ///< of all lists, one after the other
};

}  // namespace headlight::shell
