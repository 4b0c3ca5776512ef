#include "app/widgets/step_plot.h"

#include <array>
#include <limits>

#include "app/widgets/controls.h"
#include "app/widgets/plot_axes.h"
#include "chart/number_format.h"

namespace headlight::app {
namespace {

constexpr float kPlotLeft = 52.0F, kPlotBelow = 36.0F, kPlotAbove = 18.0F, kPlotRight = 12.0F;
constexpr float kSmallLeft = 6.0F, kSmallBelow = 16.0F;
constexpr float kNearLine = 8.0F, kLabelRoom = 56.0F;
constexpr double kMaxPlain = 1e37;  // of a number, or a difference of two, that is a float

std::string step_label(std::int64_t step) {
  if (step >= 1'000'000 && step % 100'000 == 0) return fmt::format("{:g}M", static_cast<double>(step) * 1e-6);
  if (step >= 10'000 && step % 100 == 0) return fmt::format("{:g}k", static_cast<double>(step) * 1e-3);
  return std::to_string(step);
}

class StepPlotPainter {
 public:
  StepPlotPainter(Frame& frame, const StepPlot& plot, const chart::Rect& area)
      : frame_(frame), plot_(plot), area_(area), x_(step_axis(plot.steps, plot.is_log)) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const StepPlot::Line& line : plot.lines) {
      for (const double value : line.values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    const double largest = low <= high ? std::max(std::abs(low), std::abs(high)) : 0.0;
    if (largest > kMaxPlain) power_ = static_cast<int>(std::floor(std::log10(largest)));
    if (low <= high) y_ = chart::plot_axis(std::array{in_units(low), in_units(high)}, 0.05);
  }

  float x_of(std::int64_t step) const { return area_.origin.x + area_.size.x * x_.share(static_cast<double>(step)); }
  glm::vec2 place(std::size_t step, double value) const {
    return {x_of(plot_.steps[step]), area_.end().y - area_.size.y * y_.share(in_units(value))};
  }

  void draw_axes() const {
    const shell::Theme& theme = frame_.ui.theme();
    ImFont* font = frame_.ui.fonts().small;
    const float line = font_size(font);
    put_text(font, {area_.origin.x, area_.origin.y - line - 2.0F}, theme.text,
             fit_text(font, frame_.ui.shaped(plot_.title), area_.size.x));
    chart::PlotTicks across, up;
    for (const auto& [step, label] : step_ticks(x_, area_.size.x)) {
      const float place = x_.share(static_cast<double>(step));
      const bool is_cut = plot_.is_small && (1.0F - place) * area_.size.x < text_width(font, label) * 0.5F;
      across.emplace_back(place, is_cut ? "" : label);
    }
    if (!plot_.is_small) up = y_.ticks(area_.size.y, 2.0F * line);
    if (power_ != 0) {
      for (auto& [place, label] : up) label += fmt::format("e{}", power_);
    }
    draw_plot_axes(frame_, area_, across, up);
    if (plot_.is_small) return;
    const std::string title = plot_.is_log ? "step of training (log axis)" : "step of training";
    put_text(font, {area_.end().x - text_width(font, title), area_.end().y + 4.0F + line}, theme.text, title);
  }

  void draw_lines(bool is_bold) const {
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (const StepPlot::Line& line : plot_.lines) {
      if (line.is_bold != is_bold) continue;
      std::vector<ImVec2> points;
      for (std::size_t step = 0; step < line.values.size(); ++step) {
        if (std::isfinite(line.values[step])) points.push_back(to_imgui(place(step, line.values[step])));
      }
      list->AddPolyline(points.data(), static_cast<int>(points.size()), line.color, 0, is_bold ? 2.5F : 1.0F);
      if (!is_bold && points.size() > 1) continue;
      for (const ImVec2& point : points) list->AddCircleFilled(point, 3.0F, line.color);
    }
  }

  StepPlotEvents nearest(glm::vec2 point) const {
    StepPlotEvents events;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t step = 0; step < plot_.steps.size(); ++step) {
      const float distance = std::abs(x_of(plot_.steps[step]) - point.x);
      if (distance < least) events.hovered_step = step;
      least = std::min(least, distance);
    }
    least = kNearLine;
    for (std::size_t line = 0; line < plot_.lines.size(); ++line) {
      if (const float distance = distance_to(plot_.lines[line], point); distance < least) {
        least = distance;
        events.hovered_line = line;
      }
    }
    return events;
  }

 private:
  /// Returns a number of the plot in units of 10^power_, so that it and differences of two fit a float.
  double in_units(double value) const { return power_ == 0 ? value : value / std::pow(10.0, power_); }

  /// Returns the distance from the point up or down to the line; infinity beside it.
  float distance_to(const StepPlot::Line& line, glm::vec2 point) const {
    std::optional<glm::vec2> before;
    for (std::size_t step = 0; step < line.values.size(); ++step) {
      if (!std::isfinite(line.values[step])) continue;
      const glm::vec2 here = place(step, line.values[step]);
      if (std::abs(here.x - point.x) < 4.0F) return std::abs(here.y - point.y);
      if (before && before->x <= point.x && point.x <= here.x) {
        const float share = (point.x - before->x) / std::max(here.x - before->x, 1e-3F);
        return std::abs(before->y + share * (here.y - before->y) - point.y);
      }
      before = here;
    }
    return std::numeric_limits<float>::infinity();
  }

  Frame& frame_;
  const StepPlot& plot_;
  chart::Rect area_;
  chart::PlotAxis x_, y_;  ///< y in_units()
  int power_ = 0;
};

}  // namespace

std::string plot_number(double value) {
  if (!std::isfinite(value) || std::abs(value) <= kMaxPlain) return chart::format_number(static_cast<float>(value), 6);
  return fmt::format("{}{:.3g}", value < 0.0 ? "\u2212" : "", std::abs(value));
}

chart::PlotAxis step_axis(std::span<const std::int64_t> steps, bool is_log) {
  const std::vector<double> numbers(steps.begin(), steps.end());
  return chart::plot_axis(numbers, 0.03, is_log);
}

std::vector<std::pair<std::int64_t, std::string>> step_ticks(const chart::PlotAxis& axis, float length) {
  std::vector<std::pair<std::int64_t, std::string>> ticks;
  float last = -std::numeric_limits<float>::infinity();
  const auto add = [&](std::int64_t step) {
    const float share = axis.share(static_cast<double>(step));
    if (share < 0.0F || share > 1.0F || (share - last) * length < kLabelRoom) return;
    ticks.emplace_back(step, step_label(step));
    last = share;
  };
  if (!axis.is_log) {
    const chart::ValueLimits limits{.low = static_cast<float>(axis.low), .high = static_cast<float>(axis.high)};
    for (const chart::Tick& tick : chart::make_axis_ticks(limits, length, kLabelRoom, true)) add(std::llround(tick.value));
    return ticks;
  }
  add(0);
  // Decades first; where there are few, 2 and 5 between them.
  const bool has_few = axis.high - axis.low < 2.5;
  constexpr std::int64_t kLargest = 1'000'000'000'000'000;
  for (std::int64_t decade = 1; decade <= kLargest; decade *= 10) {
    add(decade);
    if (!has_few) continue;
    add(2 * decade);
    add(5 * decade);
  }
  return ticks;
}

StepPlotEvents draw_step_plot(Frame& frame, const StepPlot& plot, glm::vec2 size) {
  const glm::vec2 start = cursor_position();
  const float left = plot.is_small ? kSmallLeft : kPlotLeft, below = plot.is_small ? kSmallBelow : kPlotBelow;
  const chart::Rect area{.origin = start + glm::vec2(left, kPlotAbove),
                         .size = glm::max(size - glm::vec2(left + kPlotRight, kPlotAbove + below), 24.0F)};
  const StepPlotPainter painter(frame, plot, area);
  ImGui::SetCursorScreenPos(to_imgui(area.origin));
  const bool is_clicked = click_area(plot.name, to_imgui(area.size));
  StepPlotEvents events;
  if (ImGui::IsItemHovered() || is_clicked) events = painter.nearest(pointer_position());
  events.is_clicked = is_clicked;
  mark_pointer_item(frame, plot.name, events.hovered_step ? "" : plot.help);
  const shell::Theme& theme = frame.ui.theme();
  painter.draw_axes();
  if (plot.shown)
    draw_line({painter.x_of(*plot.shown), area.origin.y}, {painter.x_of(*plot.shown), area.end().y}, theme.accent);
  painter.draw_lines(false);
  painter.draw_lines(true);
  if (events.hovered_step) {
    const float x = painter.x_of(plot.steps[*events.hovered_step]);
    draw_line({x, area.origin.y}, {x, area.end().y}, shell::with_alpha(theme.text, 120));
    const Tooltip tooltip(frame, around_pointer());
    write_strong(frame, fmt::format("step {}", plot.steps[*events.hovered_step]));
    for (std::size_t line = 0; line < plot.lines.size(); ++line) {
      const bool is_told = events.hovered_line ? line == *events.hovered_line : plot.lines[line].is_bold;
      const double value = plot.lines[line].values[*events.hovered_step];
      if (!is_told || !std::isfinite(value)) continue;
      write_text(frame.ui.fonts().small, theme.text,
                 frame.ui.shaped(fmt::format("{}: {}", plot.lines[line].name, plot_number(value))));
    }
  }
  for (std::size_t step = 0; frame.items && step < plot.steps.size(); ++step) {
    frame.mark(fmt::format("{}.{}", plot.name, step),
               {.origin = {painter.x_of(plot.steps[step]) - 1.0F, area.center().y}, .size = glm::vec2(2.0F)});
  }
  ImGui::SetCursorScreenPos(to_imgui(start));
  ImGui::Dummy(to_imgui(size));
  return events;
}

}  // namespace headlight::app
