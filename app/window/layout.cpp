#include "app/window/layout.h"

namespace headlight::app {
namespace {

constexpr float kSplitterReach = 4.0F;  // to either side of the line

chart::Rect splitter_at(float x, float y, float height) {
  return {.origin = {x - kSplitterReach, y}, .size = {2.0F * kSplitterReach, height}};
}

glm::vec2 size_of(const Layout& layout) { return {layout.status.size.x, layout.status.end().y}; }

/// The widths of what is left and right of the map; a rail counts as its panel.
struct Sides {
  float left = 0.0F, right = 0.0F;
  bool has_left = false, has_grid = false;
};

float left_for(const Panes& panes, float width) {
  if (panes.sidebar > 0.0F) return std::max(panes.sidebar, kLeftMin);
  return std::clamp(width * 0.2125F, 300.0F, 440.0F);
}

/// Returns the grid's width; a map is about as wide as it is high; what a wide window has beside it is the grid's.
float grid_for(const Panes& panes, float width, float height, float left) {
  if (panes.grid > 0.0F) return std::max(panes.grid, kGridMin);
  constexpr float kLargestShare = 0.22F;
  return std::clamp(width - left - height, 300.0F, std::max(300.0F, width * kLargestShare));
}

/// Returns the width of a panel between `least` and `wanted` that leaves the map `center`; 0: none does.
float fitting(float wanted, float least, float room, float center) {
  const float width = std::min(wanted, room - center);
  return width >= least ? width : 0.0F;
}

Sides share_out(glm::vec2 size, const Panes& panes, bool has_left) {
  const auto [width, height] = std::pair(size.x, size.y);
  constexpr float kNarrowest = 200.0F;  // a window without room for rails
  const float rail = width < kNarrowest ? 0.0F : kRailWidth;
  // What is read there is why it is there: it stays where the map is small already, until half of the window.
  constexpr float kMinWindow = 520.0F;
  Sides sides{.left = has_left ? rail : 0.0F, .right = rail};
  const bool folds_left =
      panes.sidebar_fold == Fold::Folded || (panes.sidebar_fold == Fold::Automatic && width < kMinWindow) || rail == 0.0F;
  if (has_left && !folds_left) {
    const float wanted = left_for(panes, width);
    const float fits = fitting(wanted, kLeftMin, width - rail, kCenterMin);
    sides.left = std::round(fits > 0.0F ? fits : std::min(kLeftMin, width * 0.5F));
    sides.has_left = true;
  }
  if (panes.grid_fold == Fold::Folded) return sides;
  const float center = panes.grid_fold == Fold::Open ? kCenterMin : kCenterComfortable;
  const float wanted = grid_for(panes, width, height, sides.left);
  float grid = fitting(wanted, kGridMin, width - sides.left, center);
  if (grid == 0.0F && panes.grid_fold == Fold::Open && sides.has_left) {  // the left panel gives the grid what it needs
    grid = fitting(kGridMin, kGridMin, width - kLeftMin, kCenterMin);
    if (grid > 0.0F) sides.left = std::round(width - kCenterMin - grid);
  }
  if (grid > 0.0F) {
    sides.right = std::round(grid);
    sides.has_grid = true;
  }
  return sides;
}

/// Folds a panel, or shows it: by choice, where there is no room for it by itself.
void toggle(Panes& panes, const Layout& layout, Fold Panes::*fold, bool is_shown, bool Sides::*has_room) {
  panes.*fold = is_shown ? Fold::Folded : Fold::Automatic;
  if (!is_shown && !(share_out(size_of(layout), panes, true).*has_room)) panes.*fold = Fold::Open;
}

}  // namespace

Layout layout_window(glm::vec2 size, const Strips& strips, const Panes& panes) {
  const auto [width, height] = std::pair(size.x, size.y);
  const Sides sides = share_out(size, panes, strips.has_left);
  const float room = std::max(height - strips.menu - kBodyLeast, 0.0F);
  const float chips = std::round(std::min(strips.chips, room));
  const float texts = std::round(std::min(strips.texts, room - chips));
  const float spare = std::max(height - strips.menu - texts - chips - kBodyMin, 0.0F);
  const float welcome = std::round(std::min(strips.welcome, spare));
  const float top = strips.menu + welcome + texts + chips;
  const float status = strips.is_presentation ? 0.0F : std::min(kStatusHeight, std::max(height - top, 0.0F));
  const float body = std::max(height - top - status, 0.0F);
  const float center = std::max(width - sides.left - sides.right, 0.0F);

  Layout layout;
  layout.welcome = {.origin = {0.0F, strips.menu}, .size = {width, welcome}};
  layout.texts = {.origin = {0.0F, strips.menu + welcome}, .size = {width, texts}};
  layout.chips = {.origin = {0.0F, top - chips}, .size = {width, chips}};
  (sides.has_left ? layout.left : layout.left_rail) = {.origin = {0.0F, top}, .size = {sides.left, body}};
  layout.center = {.origin = {sides.left, top}, .size = {center, body}};
  (sides.has_grid ? layout.grid : layout.grid_rail) = {.origin = {sides.left + center, top}, .size = {sides.right, body}};
  layout.status = {.origin = {0.0F, top + body}, .size = {width, status}};
  if (layout.has_left()) layout.left_splitter = splitter_at(sides.left, top, body);
  if (layout.has_grid()) layout.grid_splitter = splitter_at(layout.grid.origin.x, top, body);
  return layout;
}

float window_scale(glm::uvec2 size, float monitor) {
  constexpr std::uint32_t kWide = 2200;  // pixels
  return monitor == 1.0F && size.x >= kWide ? 1.25F : monitor;
}

void drag_left(Panes& panes, const Layout& layout, float x) {
  const float right = layout.has_grid() ? layout.grid.size.x : layout.grid_rail.size.x;
  // A grid that is there by itself would fold below the comfortable width.
  const bool may_fold = layout.has_grid() && panes.grid_fold == Fold::Automatic;
  const float widest = layout.status.size.x - right - (may_fold ? kCenterComfortable : kCenterMin);
  panes.sidebar = std::round(std::max(kLeftMin, std::min(x, widest)));
}

void drag_grid(Panes& panes, const Layout& layout, float x) {
  const float left = layout.center.origin.x;
  const float widest = layout.status.size.x - left - kCenterMin;
  panes.grid = std::round(std::max(kGridMin, std::min(layout.status.size.x - x, widest)));
  // The chosen width may leave the map less than is comfortable, and must not fold the panel for that.
  if (layout.status.size.x - left - panes.grid < kCenterComfortable) panes.grid_fold = Fold::Open;
}

void toggle_left(Panes& panes, const Layout& layout) {
  toggle(panes, layout, &Panes::sidebar_fold, layout.has_left(), &Sides::has_left);
}

void toggle_grid(Panes& panes, const Layout& layout) {
  toggle(panes, layout, &Panes::grid_fold, layout.has_grid(), &Sides::has_grid);
}

}  // namespace headlight::app
