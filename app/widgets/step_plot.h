#pragma once

#include "app/frame.h"
#include "chart/plot_axis.h"

namespace headlight::app {

/// Returns the axis of training steps.
chart::PlotAxis step_axis(std::span<const std::int64_t> steps, bool is_log);
/// Returns round steps with room for their labels.
std::vector<std::pair<std::int64_t, std::string>> step_ticks(const chart::PlotAxis& axis, float length);

/// Curves over the steps of a training.
struct StepPlot {
  struct Line {
    std::span<const double> values;  ///< [step]; not finite: there is none, and the line goes on after it
    shell::Color color = 0;
    bool is_bold = false;  ///< drawn above the others, with a dot at each step
    std::string name = {};
  };
  const char* name;                     ///< marks the plot
  std::string title;                    ///< of the numbers
  std::span<const std::int64_t> steps;  ///< ascending
  std::vector<Line> lines;
  bool is_log = false;
  bool is_small = false;                   ///< without ticks but for the ends of both axes
  std::optional<std::int64_t> shown = {};  ///< the step that is on show: a line across
  const char* help = "Curves over the steps of training.";
};
struct StepPlotEvents {
  std::optional<std::size_t> hovered_step, hovered_line;  ///< the nearest to the pointer
  bool is_clicked = false;                                ///< there
};
/// Returns a number of a plot in at most six characters; one beyond float32's range as "1.5e+300".
std::string plot_number(double value);
/// Draws the plot into a box of this size, at the cursor.
StepPlotEvents draw_step_plot(Frame& frame, const StepPlot& plot, glm::vec2 size);

}  // namespace headlight::app
