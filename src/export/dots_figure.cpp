#include "chart/plot_axis.h"
#include "core/error.h"
#include "export/figure_frame.h"
#include "export/figures.h"

namespace headlight::exporting {
namespace {

constexpr float kDotsWidth = 460.0F, kDotsHeight = 340.0F, kMinDotsWidth = 200.0F;
constexpr float kLeftOfDots = 58.0F, kBelowDots = 44.0F, kDotsBarGap = 18.0F, kDotSize = 5.0F;
constexpr double kDotsAir = 0.06;
constexpr float kTickText = kTextSize - 1.0F;
constexpr std::size_t kMaxDots = 100'000;

class DotsDrawing final : public FigureDrawing<DotsFigure> {
 public:
  explicit DotsDrawing(DotsFigure shown) : FigureDrawing(std::move(shown)) {
    if (figure_.dots.size() + figure_.paths.size() == 0 || figure_.dots.size() > kMaxDots) {
      throw Error("a figure of dots has 1 to {} of them, not {}", kMaxDots, figure_.dots.size());
    }
    std::vector<double> xs, ys;
    std::vector<float> colors;
    const auto add = [&](const glm::dvec2& at, const std::string& name) {
      if (!std::isfinite(at.x) || !std::isfinite(at.y)) throw Error("'{}' has a place that isn't finite", name);
      xs.push_back(at.x);
      ys.push_back(at.y);
    };
    for (const DotsFigure::Dot& dot : figure_.dots) {
      add(dot.at, dot.name);
      if (std::isfinite(dot.color)) colors.push_back(dot.color);
    }
    for (const DotsFigure::Path& path : figure_.paths) {
      for (const glm::dvec2& point : path.points) add(point, path.name);
      if (std::isfinite(path.color)) colors.push_back(path.color);
    }
    x_ = chart::plot_axis(xs, kDotsAir, figure_.is_log_x);
    y_ = chart::plot_axis(ys);
    chart::ValueScale scale;
    if (!colors.empty()) {
      scale.low = *std::ranges::min_element(colors);
      scale.high = std::max(*std::ranges::max_element(colors), scale.low + 1e-6F);
      colors_ = {.low = scale.low, .high = scale.high};
    }
    if (figure_.style.parts.bar && !colors.empty()) {
      bar_.emplace(scale, figure_.style, figure_.color_title, kDotsHeight, metrics_);
    }
    const float bar = bar_ ? kDotsBarGap + bar_->width() : 0.0F;
    const float chosen = is_of_width() ? figure_.style.width : figure_.style.map_edge;
    const float edge = chosen > 0.0F ? std::max(chosen - 2.0F * margin_ - kLeftOfDots - bar, kMinDotsWidth) : kDotsWidth;
    const float top = lay_out_titles(kLeftOfDots + edge + bar);
    plot_ = {.origin = {margin_ + kLeftOfDots, top},
             .size = {edge, bar_ ? std::max(bar_->height(), kDotsHeight) : kDotsHeight}};
    size_ = {plot_.end().x + bar + margin_, plot_.end().y + kBelowDots + margin_};
  }

  void draw_content(Canvas& canvas) const override {
    if (figure_.style.parts.labels) draw_axes(canvas);
    canvas.frame(plot_, paper_.outline, 0.75F);
    for (const DotsFigure::Path& path : figure_.paths) {
      for (std::size_t i = 1; i < path.points.size(); ++i)
        canvas.line(place(path.points[i - 1]), place(path.points[i]), color_of(path.color), path.is_bold ? 2.0F : 0.6F);
    }
    for (const DotsFigure::Dot& dot : figure_.dots) {
      const Rect box{.origin = place(dot.at) - 0.5F * kDotSize, .size = glm::vec2(kDotSize)};
      canvas.fill(box, color_of(dot.color));
      canvas.frame(box, paper_.outline, 0.5F);
    }
    for (const DotsFigure::Dot& dot : figure_.dots) {
      if (!dot.is_named || !figure_.style.parts.labels) continue;
      const bool is_left = place(dot.at).x > plot_.center().x;
      write(canvas, place(dot.at) + glm::vec2(is_left ? -kDotSize : kDotSize, 0.0F), printable(dot.name), paper_.ink,
            is_left ? TextAlign::End : TextAlign::Start, kTickText);
    }
    if (bar_) bar_->draw(canvas, {plot_.end().x + kDotsBarGap, plot_.origin.y}, paper_);
  }

 private:
  glm::vec2 place(const glm::dvec2& at) const {
    return plot_.origin + plot_.size * glm::vec2(x_.share(at.x), 1.0F - y_.share(at.y));
  }
  chart::Rgb color_of(float number) const {
    const float position = chart::position_in(colors_, chart::ScaleSpread::Linear, number);
    return std::isfinite(number) ? chart::color(figure_.style.color_map, position) : paper_.muted;
  }

  void draw_axes(Canvas& canvas) const {
    constexpr float kTickLength = 4.0F, kTickRoom = 36.0F;
    const auto draw_x_tick = [&](float place, const std::string& label) {
      const float x = plot_.origin.x + plot_.size.x * place;
      canvas.line({x, plot_.end().y}, {x, plot_.end().y + kTickLength}, paper_.outline, 0.75F);
      canvas.text({x, plot_.end().y + kTickLength + kTickText}, label,
                  {.size = kTickText, .color = paper_.muted, .align = TextAlign::Middle});
    };
    for (const auto& [value, label] : figure_.x_ticks) draw_x_tick(x_.share(value), label);
    if (figure_.x_ticks.empty()) {
      for (const auto& [place, label] : x_.ticks(plot_.size.x, kTickRoom, figure_.has_whole_x)) draw_x_tick(place, label);
    }
    for (const auto& [place, label] : y_.ticks(plot_.size.y, 2.0F * kTextSize)) {
      const float y = plot_.end().y - plot_.size.y * place;
      canvas.line({plot_.origin.x - kTickLength, y}, {plot_.origin.x, y}, paper_.outline, 0.75F);
      write(canvas, {plot_.origin.x - kTickLength - 2.0F, y}, label, paper_.muted, TextAlign::End, kTickText);
    }
    canvas.text({plot_.center().x, plot_.end().y + kBelowDots - 10.0F}, printable(figure_.x_title),
                {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle});
    canvas.text({plot_.origin.x - kLeftOfDots + kTextSize, plot_.center().y}, printable(figure_.y_title),
                {.size = kTextSize, .color = paper_.ink, .align = TextAlign::Middle, .degrees = 90.0F});
  }

  chart::PlotAxis x_, y_;
  chart::ValueLimits colors_;
  std::optional<ColorBar> bar_;
  Rect plot_;
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(DotsFigure figure) { return std::make_unique<DotsDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
