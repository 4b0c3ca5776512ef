#include <glm/geometric.hpp>

#include "app/views/corpus/corpus_parts.h"
#include "app/widgets/plot_axes.h"

namespace headlight::app {
namespace {

constexpr float kLeftGutter = 58.0F, kBelowDots = 40.0F, kAboveDots = 8.0F, kRightOfDots = 14.0F;
constexpr float kDot = 4.5F, kNear = 9.0F;
constexpr std::size_t kMaxNamed = 12, kOutermost = 3;

/// Returns the axis of numbers, from 0 where all are positive and some are near it.
chart::PlotAxis axis_of(std::span<const double> numbers) {
  constexpr double kNearZero = 0.25;  // of the largest number
  std::vector<double> shown;
  std::ranges::copy_if(numbers, std::back_inserter(shown), [](double number) { return std::isfinite(number); });
  if (shown.empty()) return chart::plot_axis(shown);
  const auto [low, high] = std::ranges::minmax(shown);
  if (low > 0.0 && low < kNearZero * high) shown.push_back(0.0);
  return chart::plot_axis(shown);
}

class DotPainter {
 public:
  DotPainter(Frame& frame, const DotPlot& plot, const chart::Rect& area)
      : frame_(frame), plot_(plot), area_(area), x_(axis_of(plot.x)), y_(axis_of(plot.y)) {}

  glm::vec2 place(std::size_t dot) const {
    return area_.origin + area_.size * glm::vec2(x_.share(plot_.x[dot]), 1.0F - y_.share(plot_.y[dot]));
  }
  bool is_drawn(std::size_t dot) const { return std::isfinite(plot_.x[dot]) && std::isfinite(plot_.y[dot]); }

  std::optional<std::size_t> nearest(glm::vec2 point) const {
    std::optional<std::size_t> found;
    float least = kNear;
    for (std::size_t dot = 0; dot < plot_.x.size(); ++dot) {
      const float distance = is_drawn(dot) ? glm::length(place(dot) - point) : kNear;
      if (distance >= least) continue;
      least = distance;
      found = dot;
    }
    return found;
  }

  void draw_axes() const {
    constexpr float kTickWidth = 44.0F;
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().small;
    const float line = font_size(font);
    draw_plot_axes(frame_, area_, x_.ticks(area_.size.x, kTickWidth, plot_.has_whole_x),
                   y_.ticks(area_.size.y, 2.0F * line));
    const std::string x_title = fit_text(font, plot_.x_title, area_.size.x);
    put_text(font, {area_.end().x - text_width(font, x_title), area_.end().y + 4.0F + line}, theme.text, x_title);
    const std::string y_title = fit_text(font, plot_.y_title, area_.size.y);
    draw_turned_text(font, {area_.origin.x - kLeftGutter + line * 0.5F, area_.origin.y + text_width(font, y_title)},
                     {0.0F, -1.0F}, theme.text, y_title);
  }

  void draw(std::optional<std::size_t> hovered) const {
    const shell::Theme& theme = frame_.ui.theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool has_marks = !plot_.marked.empty();
    for (std::size_t dot = 0; dot < plot_.x.size(); ++dot) {
      if (!is_drawn(dot)) continue;
      const bool is_marked = !has_marks || std::ranges::binary_search(plot_.marked, dot);
      list->AddCircleFilled(place(dot), kDot, shell::with_alpha(plot_.colors[dot], is_marked ? 255 : 70));
      list->AddCircle(place(dot), kDot, shell::with_alpha(theme.text, is_marked ? 120 : 40));
    }
    if (is_drawn(plot_.chosen)) list->AddCircle(place(plot_.chosen), kDot + 3.0F, theme.accent, 0, 2.0F);
    if (hovered) list->AddCircle(place(*hovered), kDot + 3.0F, theme.text, 0, 1.5F);
    std::vector<chart::Rect> taken;
    draw_name(plot_.chosen, taken);
    if (plot_.marked.size() <= kMaxNamed) {
      for (const std::size_t dot : plot_.marked) draw_name(dot, taken);
    }
    if (has_marks) return;
    for (const std::span<const double> values : {plot_.x, plot_.y}) {
      for (const std::size_t dot : outermost(values)) draw_name(dot, taken);
    }
  }

 private:
  /// Returns the drawn dots with the largest values, which are what a plot is looked at for.
  std::vector<std::size_t> outermost(std::span<const double> values) const {
    std::vector<std::size_t> dots;
    for (std::size_t dot = 0; dot < values.size(); ++dot) {
      if (is_drawn(dot)) dots.push_back(dot);
    }
    const std::size_t count = std::min(dots.size(), kOutermost);
    std::ranges::partial_sort(dots, dots.begin() + static_cast<std::ptrdiff_t>(count), std::greater(),
                              [&](std::size_t dot) { return values[dot]; });
    dots.resize(count);
    return dots;
  }

  /// Writes a dot's name beside it, where no other one is.
  void draw_name(std::size_t dot, std::vector<chart::Rect>& taken) const {
    if (!is_drawn(dot)) return;
    ImFont* font = frame_.ui.fonts().small;
    const std::string label = plot_.label(dot);
    frame_.ui.ensure_glyphs(label);
    const float right = area_.end().x - place(dot).x - kDot - 5.0F, left = place(dot).x - area_.origin.x - kDot - 5.0F;
    const std::string name = fit_text(font, frame_.ui.shaped(label), std::max(left, right));
    const float width = text_width(font, name);
    glm::vec2 at = place(dot) + glm::vec2(kDot + 5.0F, -font_size(font) * 0.5F);
    const float other_side = place(dot).x - kDot - 5.0F - width;
    if (width > right) at.x = other_side;
    const auto is_taken = [&] {
      const chart::Rect box{.origin = at, .size = {width, font_size(font)}};
      return std::ranges::any_of(taken,
                                 [&](const chart::Rect& other) { return !chart::intersection(box, other).is_empty(); });
    };
    if (is_taken() && width <= left) at.x = other_side;
    if (is_taken()) return;
    taken.push_back({.origin = at, .size = {width, font_size(font)}});
    put_text(font, glm::round(at), frame_.ui.theme().text, name);
  }

  Frame& frame_;
  const DotPlot& plot_;
  chart::Rect area_;
  chart::PlotAxis x_, y_;
};

}  // namespace

bool is_inside(std::span<const glm::vec2> path, glm::vec2 point) {
  bool inside = false;
  for (std::size_t i = 0, before = path.size() - 1; i < path.size(); before = i++) {
    const glm::vec2 a = path[i], b = path[before];
    if ((a.y > point.y) == (b.y > point.y)) continue;
    if (point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

DotEvents draw_dots(Frame& frame, const DotPlot& plot, std::vector<glm::vec2>& path) {
  DotEvents events;
  const glm::vec2 start = cursor_position(), room = region_left();
  const chart::Rect area{.origin = start + glm::vec2(kLeftGutter, kAboveDots),
                         .size = glm::max(room - glm::vec2(kLeftGutter + kRightOfDots, kAboveDots + kBelowDots), 40.0F)};
  const DotPainter painter(frame, plot, area);
  ImGui::SetCursorScreenPos(area.origin);
  const bool is_clicked = click_area(plot.name, area.size);
  const bool is_hovered = ImGui::IsItemHovered(), is_held = ImGui::IsItemActive();
  const glm::vec2 pointer = pointer_position();
  if (is_held && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    if (path.empty()) path.push_back(to_glm(ImGui::GetIO().MouseClickedPos[ImGuiMouseButton_Left]));
    if (glm::length(pointer - path.back()) > 1.0F) path.push_back(pointer);
  }
  if (is_hovered && path.empty()) events.hovered = painter.nearest(pointer);
  if (!is_held && !path.empty()) {
    events.lasso.emplace();
    for (std::size_t dot = 0; dot < plot.x.size(); ++dot) {
      if (painter.is_drawn(dot) && is_inside(path, painter.place(dot))) events.lasso->push_back(dot);
    }
    path.clear();
  } else if (is_clicked) {
    events.clicked = painter.nearest(pointer);
    if (!events.clicked) events.lasso.emplace();  // a click beside the dots frees what was encircled
  }
  events.is_double = is_hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
  if (events.is_double) events.clicked = painter.nearest(pointer);
  // The dots have tooltips of their own.
  mark_pointer_item(
      frame, plot.name,
      events.hovered ? "" : "Click: selects a head. Double click: its page. Drag around dots: lists them alone.");
  painter.draw_axes();
  painter.draw(events.hovered);
  for (std::size_t dot = 0; frame.items && dot < plot.x.size(); ++dot) {
    if (painter.is_drawn(dot))
      frame.mark(fmt::format("{}.{}", plot.name, dot), {.origin = painter.place(dot) - 1.0F, .size = glm::vec2(2.0F)});
  }
  if (path.size() > 1) {
    const std::vector<ImVec2> points(path.begin(), path.end());
    ImGui::GetWindowDrawList()->AddPolyline(points.data(), static_cast<int>(points.size()), frame.ui.theme().accent,
                                            ImDrawFlags_Closed, 1.5F);
  }
  ImGui::SetCursorScreenPos(to_imgui(start));
  ImGui::Dummy(to_imgui(room));
  return events;
}

}  // namespace headlight::app
