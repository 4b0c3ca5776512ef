#pragma once

#include "app/frame.h"
#include "app/shapes/grid.h"

namespace headlight::app {

/// A grid on screen: its cells with their numbers or texts, where they fit.
struct GridMap {
  const Grid& grid;
  std::function<std::string(GridCell)> name;   ///< that a cell is marked by
  std::function<std::string(GridCell)> about;  ///< the tooltip of a cell whose number is known
  std::string missing = "not computed yet";    ///< the tooltip of others
  std::optional<GridCell> selected = {};       ///< framed, and scrolled to when it becomes that
  double least_end = 0.0;                      ///< the colours reach at least this far from 0
  double least_written = 0.0;                  ///< the cells of numbers nearer to 0 have colours alone
  GridKind kind = GridKind::Numbers;
  std::function<void(GridCell, const GridPart& shown)> fill = {};  ///< called for each cell in view, to write the grid's
  std::function<void(GridCell)> drag = {};  ///< called after each cell's item, which may be dragged; or empty
};

struct GridEvents {
  std::optional<GridCell> cell;  ///< that was clicked in this frame
  bool is_double = false;
  std::optional<GridCell> hovered = {};  ///< under the pointer
  GridPart shown = {};                   ///< in view
};

/// Draws the grid into what is left of the region; cells that aren't known have the colour of a missing tile. Numbers have
/// their scale above them, where the region is wide enough.
GridEvents draw_grid(Frame& frame, const GridMap& map);
/// Returns the height that a grid takes in a region of this width.
float grid_height(const Grid& grid, float width, GridKind kind = GridKind::Numbers);

/// Returns the width that a grid takes in a room, with a scroll bar where it may have one.
float grid_width(const Frame& frame, const Grid& grid, GridKind kind, glm::vec2 room);

/// A bar of colours between the words of its ends.
struct ColorScale {
  std::span<const std::uint32_t> colors;
  std::string low, high;
  std::string middle = {};  ///< written on the bar
};
/// Returns that of numbers below and above 0, whose ends aren't the same in all that is shown.
ColorScale scale_of_signs(const Frame& frame);
/// Draws the scale in a line.
void draw_scale(const Frame& frame, const ColorScale& scale);
/// Draws it between two x, to the right, with as long a bar as fits; nothing where that would be too short to be seen.
void put_scale(const Frame& frame, const ColorScale& scale, glm::vec2 at, float end);

}  // namespace headlight::app
