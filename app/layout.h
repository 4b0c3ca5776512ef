#pragma once

#include "app/settings.h"
#include "shell/heatmap_renderer.h"

namespace headlight::app {

/// Where the panes of the window stand, in UI units. Pure arithmetic: the same window gives the same layout.
///
///   menu bar
///   welcome
///   texts
///   sidebar │ tabs     │ grid
///           │ centre   │
///   status line
///
/// A window too narrow for all three narrows the grid, then the sidebar, then gives up the grid; the text and the map stay.
struct Layout {
  shell::UiRect notice;   ///< a line under the menu bar; no height when there is nothing to say
  shell::UiRect welcome;  ///< what to begin with; no height once it was closed
  shell::UiRect texts;    ///< a translator's two texts side by side; no height otherwise
  shell::UiRect sidebar;
  shell::UiRect tabs;
  shell::UiRect center;
  shell::UiRect grid;  ///< no width: there is no room
  shell::UiRect status;
  shell::UiRect sidebar_splitter;  ///< may be dragged; wider than the line that is seen
  shell::UiRect grid_splitter;

  bool has_grid() const { return grid.width > 0.0F; }
};

/// Limits of the panes, in UI units.
inline constexpr float kSidebarMin = 240.0F;
inline constexpr float kGridMin = 176.0F;
inline constexpr float kCenterMin = 400.0F;
inline constexpr float kTabsHeight = 40.0F;
inline constexpr float kStatusHeight = 28.0F;
inline constexpr float kNoticeHeight = 36.0F;
inline constexpr float kBodyMin = 280.0F;  // of the panes and the status line, before strips give way

/// Heights of the strips above the panes; 0: not there.
struct Strips {
  float menu = 0.0F;
  bool has_notice = false;
  float welcome = 0.0F;
  float texts = 0.0F;
};

/// The panes' widths and the strips' heights are wishes: they are cut to what fits, and the strips leave the map some room.
Layout layout_window(float width, float height, const Strips& strips, const Panes& panes);

/// What a splitter's drag to `x` makes of the wishes; kept inside what the window can show.
void drag_sidebar(Panes& panes, const Layout& layout, float x);
void drag_grid(Panes& panes, const Layout& layout, float x);

}  // namespace headlight::app
