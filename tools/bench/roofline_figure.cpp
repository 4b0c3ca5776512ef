#include "tools/bench/roofline_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "chart/color.h"
#include "core/error.h"
#include "export/figure_frame.h"
#include "export/text_metrics.h"

namespace headlight::bench {
namespace {

using namespace exporting;  // NOLINT(google-build-using-namespace): its figures' parts

constexpr float kPlotWidth = 760.0F, kPlotHeight = 520.0F;
constexpr float kAxisLeft = 64.0F, kAxisBelow = 48.0F;
constexpr float kSeriesGap = 24.0F, kSeriesStep = 20.0F, kSeriesSwatch = 10.0F;
constexpr float kDotEdge = 7.0F;
constexpr float kLabelSize = 9.0F;

/// A logarithmic axis from one power of ten's multiple to another.
struct LogAxis {
  double low = 1.0, high = 10.0;

  /// From the values' range, widened to 1, 2 or 5 times a power of ten.
  LogAxis(double least, double most) {
    low = step_below(least);
    high = step_below(most);
    while (high < most * 1.2) high = next(high);
    while (low > least / 1.2) low = step_below(low * 0.9);
  }
  static double next(double step) {
    const double leading = step / std::pow(10.0, std::floor(std::log10(step) + 1e-9));
    return leading < 1.5 || leading > 4.0 ? step * 2.0 : step * 2.5;
  }
  /// The largest of …, 1, 2, 5, 10, … that isn't above the value.
  static double step_below(double value) {
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    for (const double factor : {5.0, 2.0}) {
      if (value >= factor * power * (1.0 - 1e-9)) return factor * power;
    }
    return power;
  }
  float at(double value) const { return static_cast<float>(std::log(value / low) / std::log(high / low)); }
};

class RooflineDrawing final : public Drawing {
 public:
  explicit RooflineDrawing(RooflineFigure shown)
      : figure_(checked(std::move(shown))),
        paper_(paper_of({.is_dark = figure_.is_dark})),
        x_(least_intensity(), most_intensity()),
        y_(least_rate(), highest(figure_.arithmetic)),
        series_width_(widest_series()),
        width_(2.0F * kMargin + kAxisLeft + kPlotWidth + kSeriesGap + series_width_),
        titles_(figure_.title, figure_.subtitle, width_ - 2.0F * kMargin, metrics_),
        plot_{.origin = {kMargin + kAxisLeft, kMargin + titles_.height()}, .size = {kPlotWidth, kPlotHeight}} {}

  glm::vec2 size() const override { return {width_, plot_.end().y + kAxisBelow + kMargin}; }
  /// The benchmark writes it on this page alone.
  std::unique_ptr<Drawing> on_page(const FigureStyle& /*page*/, const std::string& /*title*/) const override {
    return nullptr;
  }
  DrawingOutput output() const override { return output_of({.is_dark = figure_.is_dark}, figure_.title, {}); }

  std::string text() const override {
    std::string words = fmt::format("{}\n\n{}\n\n", figure_.title, figure_.subtitle);
    for (const RooflineFigure::Roof& roof : figure_.arithmetic)
      words += fmt::format("- {}: {:.4g} GFLOP/s\n", roof.name, roof.rate);
    for (const RooflineFigure::Roof& roof : figure_.memory)
      words += fmt::format("- {}: {:.4g} GB/s\n", roof.name, roof.rate);
    for (const RooflineFigure::Dot& dot : figure_.dots) {
      words += fmt::format("- {}, {}: {:.4g} GFLOP/s at {:.4g} FLOP a byte\n", figure_.series[dot.series], dot.label,
                           dot.gflops, dot.intensity);
    }
    return words;
  }

  void draw(Canvas& canvas) const override {
    titles_.draw(canvas, {kMargin, kMargin}, paper_);
    draw_axes(canvas);
    std::vector<glm::vec2> obstacles = draw_roofs(canvas);
    draw_dots(canvas, obstacles);
    draw_series(canvas);
  }

 private:
  using Roofs = std::vector<RooflineFigure::Roof>;

  static RooflineFigure checked(RooflineFigure figure) {
    if (figure.arithmetic.empty() || figure.memory.empty())
      throw Error("a roofline needs a roof of arithmetic and of memory");
    const auto is_rate = [](double rate) { return std::isfinite(rate) && rate > 0.0; };
    for (const Roofs* roofs : {&figure.arithmetic, &figure.memory}) {
      for (const auto& roof : *roofs) {
        if (!is_rate(roof.rate)) throw Error("the roof '{}' is at {}, not above 0", roof.name, roof.rate);
      }
    }
    for (const auto& dot : figure.dots) {
      if (!is_rate(dot.intensity) || !is_rate(dot.gflops)) throw Error("the dot '{}' isn't above 0 in both axes", dot.label);
      if (dot.series >= figure.series.size()) throw Error("the dot '{}' is of a series that the figure lacks", dot.label);
    }
    return figure;
  }

  static double highest(const Roofs& roofs) {
    return std::ranges::max_element(roofs, {}, &RooflineFigure::Roof::rate)->rate;
  }
  static double lowest(const Roofs& roofs) { return std::ranges::min_element(roofs, {}, &RooflineFigure::Roof::rate)->rate; }
  /// Where the last slope meets the highest flat roof.
  double ridge() const { return highest(figure_.arithmetic) / lowest(figure_.memory); }
  double least_intensity() const {
    double least = 0.3 * lowest(figure_.arithmetic) / highest(figure_.memory);
    for (const auto& dot : figure_.dots) least = std::min(least, dot.intensity);
    return least;
  }
  double most_intensity() const {
    double most = 3.0 * ridge();
    for (const auto& dot : figure_.dots) most = std::max(most, dot.intensity);
    return most;
  }
  double least_rate() const {
    double least = 0.2 * lowest(figure_.arithmetic);
    for (const auto& dot : figure_.dots) least = std::min(least, dot.gflops);
    return least;
  }
  float widest_series() const {
    float width = 0.0F;
    for (const std::string& name : figure_.series) width = std::max(width, metrics_.width(name, kTextSize));
    return std::ceil(width) + kSeriesSwatch + 6.0F;
  }

  glm::vec2 point(double intensity, double gflops) const {
    return plot_.origin + plot_.size * glm::vec2(x_.at(intensity), 1.0F - y_.at(gflops));
  }

  void draw_axes(Canvas& canvas) const {
    const TextStyle style{.size = kTextSize, .color = paper_.muted};
    for (double value = x_.low; value <= x_.high * 1.0001; value = LogAxis::next(value)) {
      const float x = point(value, y_.low).x;
      canvas.line({x, plot_.origin.y}, {x, plot_.end().y}, paper_.blank, 1.0F);
      TextStyle middle = style;
      middle.align = TextAlign::Middle;
      canvas.text({x, plot_.end().y + 16.0F}, fmt::format("{:g}", value), middle);
    }
    for (double value = y_.low; value <= y_.high * 1.0001; value = LogAxis::next(value)) {
      const float y = point(x_.low, value).y;
      canvas.line({plot_.origin.x, y}, {plot_.end().x, y}, paper_.blank, 1.0F);
      TextStyle end = style;
      end.align = TextAlign::End;
      canvas.text({plot_.origin.x - 6.0F, y + kHalfCapital * kTextSize}, fmt::format("{:g}", value), end);
    }
    canvas.frame(plot_, paper_.outline, 1.0F);
    canvas.text({plot_.center().x, plot_.end().y + 36.0F}, "FLOP for each byte that must be moved",
                {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle});
    canvas.text({kMargin + kTextSize, plot_.center().y}, "GFLOP/s",
                {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle, .degrees = 90.0F});
  }

  /// Returns points along the roofs and in their names, which labels keep clear of.
  std::vector<glm::vec2> draw_roofs(Canvas& canvas) const {
    std::vector<glm::vec2> points;
    const auto draw_line = [&](glm::vec2 from, glm::vec2 to, float width) {
      canvas.line(from, to, paper_.ink, width);
      const float length = std::hypot(to.x - from.x, to.y - from.y);
      for (float at = 0.0F; at <= length; at += 2.0F) points.push_back(glm::mix(from, to, at / std::max(length, 1.0F)));
    };
    const auto draw_name = [&](glm::vec2 at, const std::string& name, TextAlign align) {
      const float width = metrics_.width(name, kTextSize), left = align == TextAlign::End ? at.x - width : at.x;
      canvas.text(at, name, {.size = kTextSize, .color = paper_.ink, .align = align});
      for (float x = left; x <= left + width; x += 2.0F) {
        for (float y = at.y - kTextSize; y <= at.y + 3.0F; y += 2.0F) points.emplace_back(x, y);
      }
    };
    const double top = highest(figure_.arithmetic), wide = highest(figure_.memory);
    for (const auto& roof : figure_.arithmetic) {
      const double from = std::max(roof.rate / wide, x_.low);
      draw_line(point(from, roof.rate), point(x_.high, roof.rate), 1.6F);
      draw_name(point(x_.high, roof.rate) + glm::vec2(-6.0F, -6.0F), fmt::format("{}: {:.3g} GFLOP/s", roof.name, roof.rate),
                TextAlign::End);
    }
    // Names stand left of the slopes, that of the lowest of several right of it: two slopes may be close together.
    const double low = lowest(figure_.memory);
    for (const auto& roof : figure_.memory) {
      const double from = std::max(x_.low, y_.low / roof.rate), to = std::min(top / roof.rate, x_.high);
      draw_line(point(from, from * roof.rate), point(to, to * roof.rate), 1.6F);
      const std::string name = fmt::format("{}: {:.3g} GB/s", roof.name, roof.rate);
      const bool is_right = figure_.memory.size() > 1 && roof.rate <= low;
      const double at = std::exp(std::lerp(std::log(from), std::log(to), is_right ? 0.35 : 0.75));
      const glm::vec2 beside = point(at, at * roof.rate) + glm::vec2(is_right ? 10.0F : -10.0F, is_right ? 12.0F : 0.0F);
      draw_name(beside, name, is_right ? TextAlign::Start : TextAlign::End);
    }
    return points;
  }

  void draw_dots(Canvas& canvas, const std::vector<glm::vec2>& obstacles) const {
    std::vector<glm::vec2> dots;
    std::vector<float> widths;
    for (const auto& dot : figure_.dots) {
      dots.push_back(point(dot.intensity, dot.gflops));
      widths.push_back(metrics_.width(dot.label, kLabelSize) + 2.0F);
    }
    const float height = line_height(kLabelSize);
    const std::vector<PlacedLabel> labels = place_labels(dots, widths, height, plot_, obstacles);
    for (const PlacedLabel& label : labels) {
      const glm::vec2 dot = dots[label.dot];
      const glm::vec2 nearest = glm::clamp(dot, label.box.origin, label.box.end());
      if (std::hypot(dot.x - nearest.x, dot.y - nearest.y) > 14.0F) canvas.line(dot, nearest, paper_.outline, 0.6F);
    }
    for (std::size_t i = 0; i < dots.size(); ++i) {
      const glm::vec2 low = dots[i] - kDotEdge * 0.5F;
      canvas.fill({.origin = low, .size = glm::vec2(kDotEdge)}, chart::head_color(figure_.dots[i].series));
    }
    for (const PlacedLabel& label : labels) {
      canvas.text({label.box.origin.x + 1.0F, label.box.end().y - 0.3F * kLabelSize}, figure_.dots[label.dot].label,
                  {.size = kLabelSize, .color = paper_.ink});
    }
  }

  void draw_series(Canvas& canvas) const {
    const float x = plot_.end().x + kSeriesGap;
    for (std::size_t i = 0; i < figure_.series.size(); ++i) {
      const float y = plot_.origin.y + static_cast<float>(i) * kSeriesStep;
      canvas.fill({.origin = {x, y}, .size = {kSeriesSwatch, kSeriesSwatch}},
                  chart::head_color(static_cast<std::uint32_t>(i)));
      canvas.text({x + kSeriesSwatch + 6.0F, y + kSeriesSwatch * 0.5F + kHalfCapital * kTextSize}, figure_.series[i],
                  {.size = kTextSize, .color = paper_.ink});
    }
  }

  RooflineFigure figure_;
  TextMetrics metrics_;
  Paper paper_;
  LogAxis x_, y_;
  float series_width_, width_;
  TitleBlock titles_;
  Rect plot_;
};

}  // namespace

std::unique_ptr<exporting::Drawing> make_drawing(RooflineFigure figure) {
  return std::make_unique<RooflineDrawing>(std::move(figure));
}

}  // namespace headlight::bench
