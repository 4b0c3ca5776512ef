#pragma once

#include "app/shell/heatmap_renderer.h"
#include "app/state/settings.h"

namespace headlight::app {

/// The places of the window's panes, in UI units. Pure arithmetic: the same window gives the same layout.
///
///   menus, groups, views
///   welcome
///   texts
///   chips
///   left │ centre │ grid
///   status line
///
/// The left panel is there while something is read or edited beside the view, a lesson's card. The map comes first: a side
/// panel that would leave it too little room folds into a rail at the window's edge, the grid before the left one. A panel
/// that the user opened stays open until the map would be smaller than kCenterMin.
struct Layout {
  chart::Rect welcome;  ///< what to begin with; no height once it was closed
  chart::Rect texts;    ///< the text, or two of them side by side
  chart::Rect chips;    ///< how the pass differs from the model's
  chart::Rect left;     ///< no width: folded, or nothing is in it
  chart::Rect center;
  chart::Rect grid;       ///< no width: folded
  chart::Rect left_rail;  ///< in place of the folded left panel; no width while it is open, or empty
  chart::Rect grid_rail;
  chart::Rect status;
  chart::Rect left_splitter;  ///< may be dragged; wider than the line that is seen
  chart::Rect grid_splitter;
  bool has_left() const { return left.size.x > 0.0F; }
  bool has_grid() const { return grid.size.x > 0.0F; }
};

/// Limits of the panes, in UI units.
inline constexpr float kLeftMin = 240.0F;
inline constexpr float kGridMin = 208.0F;  // of its head line
inline constexpr float kCenterMin = 400.0F;
inline constexpr float kCenterComfortable = 600.0F;  ///< below it a panel folds by itself
inline constexpr float kRailWidth = 28.0F;
inline constexpr float kTopRowHeight = 34.0F;
inline constexpr float kStatusHeight = 28.0F;
inline constexpr float kBodyMin = 360.0F;    ///< of the panes and the status line, before the welcome gives way
inline constexpr float kBodyLeast = 280.0F;  ///< before the texts give way
inline constexpr float kCardShare = 0.28F;   ///< of a presentation's width

/// Heights of the strips above the panes; 0: not there.
struct Strips {
  float menu = 0.0F;
  float welcome = 0.0F;
  float texts = 0.0F;
  float chips = 0.0F;
  bool has_left = false;         ///< is there something for the left panel?
  bool is_presentation = false;  ///< the view and the left panel have the window to themselves: no status line
};

/// Lays out the window. The panes' widths and the strips' heights are upper limits: they are cut to what fits, and the
/// strips leave the map some room.
Layout layout_window(glm::vec2 size, const Strips& strips, const Panes& panes);

/// Returns the pixels of a UI unit in a window of this size on a monitor of this scale: a window that has more pixels than
/// its layout needs draws letters and rows a quarter larger, unless the monitor's scale does so.
float window_scale(glm::uvec2 size, float monitor);

/// Applies a splitter's drag to `x` to the panes' widths, which stay inside of what the window can show.
void drag_left(Panes& panes, const Layout& layout, float x);
void drag_grid(Panes& panes, const Layout& layout, float x);

/// Folds a panel that is open in `layout`, opens one that is folded.
void toggle_left(Panes& panes, const Layout& layout);
void toggle_grid(Panes& panes, const Layout& layout);

}  // namespace headlight::app
