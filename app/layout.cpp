#include "app/layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::app {
namespace {

constexpr float kSplitterReach = 4.0F;  // to either side of the line

shell::UiRect splitter_at(float x, float y, float height) {
  return {.x = x - kSplitterReach, .y = y, .width = 2.0F * kSplitterReach, .height = height};
}

}  // namespace

Layout layout_window(float width, float height, const Strips& strips, const Panes& panes) {
  float sidebar = std::max(panes.sidebar, kSidebarMin);
  float grid = std::max(panes.grid, kGridMin);
  if (sidebar + kCenterMin + grid > width) grid = width - sidebar - kCenterMin;
  if (grid < kGridMin) {
    grid = kGridMin;
    sidebar = width - kCenterMin - grid;
  }
  if (sidebar < kSidebarMin) {  // no room for the grid; a window that is narrower still is halved
    grid = 0.0F;
    sidebar = std::min(panes.sidebar, std::max(width - kCenterMin, std::min(kSidebarMin, width * 0.5F)));
  }
  sidebar = std::round(sidebar);
  grid = std::round(grid);

  const float notice = strips.has_notice ? kNoticeHeight : 0.0F;
  const float room = std::max(height - strips.menu - notice - kBodyMin, 0.0F);
  const float texts = std::round(std::min(strips.texts, room));
  const float welcome = std::round(std::min(strips.welcome, room - texts));
  const float top = strips.menu + notice + welcome + texts;
  const float status = std::min(kStatusHeight, std::max(height - top, 0.0F));
  const float body = std::max(height - top - status, 0.0F);
  const float tabs = std::min(kTabsHeight, body);
  const float center = std::max(width - sidebar - grid, 0.0F);

  Layout layout;
  layout.notice = {.x = 0.0F, .y = strips.menu, .width = width, .height = notice};
  layout.welcome = {.x = 0.0F, .y = strips.menu + notice, .width = width, .height = welcome};
  layout.texts = {.x = 0.0F, .y = top - texts, .width = width, .height = texts};
  layout.sidebar = {.x = 0.0F, .y = top, .width = sidebar, .height = body};
  layout.tabs = {.x = sidebar, .y = top, .width = center, .height = tabs};
  layout.center = {.x = sidebar, .y = top + tabs, .width = center, .height = body - tabs};
  layout.grid = {.x = sidebar + center, .y = top, .width = grid, .height = body};
  layout.status = {.x = 0.0F, .y = top + body, .width = width, .height = status};
  layout.sidebar_splitter = splitter_at(sidebar, top, body);
  layout.grid_splitter = layout.has_grid() ? splitter_at(layout.grid.x, top, body) : shell::UiRect{};
  return layout;
}

void drag_sidebar(Panes& panes, const Layout& layout, float x) {
  const float widest = layout.status.width - layout.grid.width - kCenterMin;
  panes.sidebar = std::round(std::max(kSidebarMin, std::min(x, widest)));
}

void drag_grid(Panes& panes, const Layout& layout, float x) {
  const float widest = layout.status.width - layout.sidebar.width - kCenterMin;
  panes.grid = std::round(std::max(kGridMin, std::min(layout.status.width - x, widest)));
}

}  // namespace headlight::app
