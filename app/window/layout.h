#pragma once

#include "app/shell/heatmap_renderer.h"
#include "app/state/settings.h"

namespace headlight::app {

/// The places of the window's panes, in UI units. Pure arithmetic: the same window gives the same layout.
///
///   menus, groups, views
///   welcome
///   texts
///   lesson  │ centre   │ grid
///   sidebar │          │
///   status line
///
/// The map comes first: a side panel that would leave it too little room folds into a rail at the window's edge, the grid
/// before the sidebar. A panel that the user opened stays open until the map would be smaller than kCenterMin.
struct Layout {
  chart::Rect welcome;  ///< what to begin with; no height once it was closed
  chart::Rect texts;    ///< a translator's two texts side by side; no height otherwise
  chart::Rect lesson;   ///< above the sidebar, as wide; no height without a lesson, or where the sidebar is folded
  chart::Rect sidebar;  ///< no width: folded
  chart::Rect center;
  chart::Rect grid;          ///< no width: folded
  chart::Rect sidebar_rail;  ///< in place of the folded sidebar; no width while it is open
  chart::Rect grid_rail;
  chart::Rect status;
  chart::Rect sidebar_splitter;  ///< may be dragged; wider than the line that is seen
  chart::Rect grid_splitter;
  bool has_sidebar() const { return sidebar.size.x > 0.0F; }
  bool has_grid() const { return grid.size.x > 0.0F; }
};

/// Limits of the panes, in UI units.
inline constexpr float kSidebarMin = 240.0F;
inline constexpr float kGridMin = 208.0F;  // of its head line
inline constexpr float kCenterMin = 400.0F;
inline constexpr float kCenterComfortable = 600.0F;  ///< below it a panel folds by itself
inline constexpr float kRailWidth = 28.0F;
inline constexpr float kTopRowHeight = 34.0F;
inline constexpr float kStatusHeight = 28.0F;
inline constexpr float kBodyMin = 440.0F;    ///< of the panes and the status line, before the welcome gives way
inline constexpr float kBodyLeast = 280.0F;  ///< before the texts give way
inline constexpr float kLessonMost = 0.72F;  ///< part of the sidebar's column that a lesson takes
inline constexpr float kCardShare = 0.28F;   ///< of a presentation's width

/// Heights of the strips above the panes; 0: not there.
struct Strips {
  float menu = 0.0F;
  float welcome = 0.0F;
  float texts = 0.0F;
  float lesson = 0.0F;  ///< of the sidebar's column
  /// The view and the lesson's card have the window to themselves: no first row, no status line, nothing below the card.
  bool is_presentation = false;
};

/// Lays out the window. The panes' widths and the strips' heights are upper limits: they are cut to what fits, and the
/// strips leave the map some room.
Layout layout_window(glm::vec2 size, const Strips& strips, const Panes& panes);

/// Applies a splitter's drag to `x` to the panes' widths, which stay inside of what the window can show.
void drag_sidebar(Panes& panes, const Layout& layout, float x);
void drag_grid(Panes& panes, const Layout& layout, float x);

/// Folds a panel that is open in `layout`, opens one that is folded.
void toggle_sidebar(Panes& panes, const Layout& layout);
void toggle_grid(Panes& panes, const Layout& layout);

}  // namespace headlight::app
