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

/// Draws a bar of the colours between the words of its ends, in a line.
void draw_scale(const Frame& frame, std::span<const std::uint32_t> colors, const std::string& low, const std::string& high);

}  // namespace headlight::app
