#include "export/panels_figure.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/error.h"
#include "export/figure_frame.h"
#include "export/heatmap_figure.h"
#include "export/text_metrics.h"

namespace headlight::exporting {
namespace {

constexpr std::uint32_t kMostValues = 512;  // along an edge of a panel
constexpr float kLargestPage = 8'000.0F;

/// Another canvas with its origin elsewhere.
class ShiftedCanvas final : public Canvas {
 public:
  ShiftedCanvas(Canvas& canvas, glm::vec2 by) : canvas_(canvas), by_(by) {}

  void fill(Rect rect, Rgb color) override { canvas_.fill(shifted(rect), color); }
  void frame(Rect rect, Rgb color, float width) override { canvas_.frame(shifted(rect), color, width); }
  void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) override {
    canvas_.line(from + by_, to + by_, color, width);
  }
  void hatch(std::span<const Rect> rects, Rgb stripe) override {
    std::vector<Rect> moved;
    moved.reserve(rects.size());
    for (const Rect& rect : rects) moved.push_back(shifted(rect));
    canvas_.hatch(moved, stripe);
  }
  void image(Rect rect, const Pixels& pixels) override { canvas_.image(shifted(rect), pixels); }
  void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) override {
    canvas_.text(anchor + by_, text, style);
  }

 private:
  Rect shifted(Rect rect) const { return {rect.origin + by_, rect.size}; }

  Canvas& canvas_;
  glm::vec2 by_;
};

class PanelsDrawing final : public Drawing {
 public:
  explicit PanelsDrawing(PanelsFigure figure) : figure_(std::move(figure)) {
    if (figure_.panels.empty()) throw Error("a figure of several maps needs at least one");
    paper_ = paper_of({.is_dark = figure_.is_dark});
    const std::size_t across = std::clamp<std::size_t>(figure_.across, 1, figure_.panels.size());
    std::vector<float> widths(across, 0.0F), heights;
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      HeatmapFigure& panel = figure_.panels[i];
      panel.style.is_dark = figure_.is_dark;
      const HeatmapDrawing& drawing = *drawings_.emplace_back(std::make_unique<HeatmapDrawing>(panel, kMostValues));
      if (i % across == 0) heights.push_back(0.0F);
      widths[i % across] = std::max(widths[i % across], drawing.width());
      heights.back() = std::max(heights.back(), drawing.height());
    }
    float width = 0.0F, height = 0.0F;
    for (const float column : widths) width += column;
    title_.emplace(figure_.title, figure_.subtitle, std::max(width - 2.0F * kMargin, 200.0F), metrics_);
    const float top = title_->height() > 0.0F ? kMargin + title_->height() - 8.0F : 0.0F;
    for (std::size_t row = 0, i = 0; row < heights.size(); height += heights[row++]) {
      float left = 0.0F;
      for (std::size_t column = 0; column < across && i < drawings_.size(); ++column, ++i) {
        corners_.emplace_back(left, top + height);
        left += widths[column];
      }
    }
    size_ = {std::ceil(std::max(width, title_->width() + 2.0F * kMargin)), std::ceil(top + height)};
    if (size_.x > kLargestPage || size_.y > kLargestPage)
      throw Error("the maps are too many for one figure; export them singly");
  }

  glm::vec2 size() const override { return size_; }
  Rgb ground() const override { return paper_.ground; }
  std::string title() const override { return figure_.title; }
  void draw(Canvas& canvas) const override {
    title_->draw(canvas, {kMargin, kMargin}, paper_);
    for (std::size_t i = 0; i < drawings_.size(); ++i) {
      ShiftedCanvas shifted(canvas, corners_[i]);
      drawings_[i]->draw(shifted);
    }
  }

 private:
  PanelsFigure figure_;  ///< drawings refer to its panels
  TextMetrics metrics_;
  Paper paper_;
  std::vector<std::unique_ptr<HeatmapDrawing>> drawings_;
  std::vector<glm::vec2> corners_;
  std::optional<TitleBlock> title_;
  glm::vec2 size_{0.0F};
};

}  // namespace

std::unique_ptr<Drawing> make_drawing(PanelsFigure figure) { return std::make_unique<PanelsDrawing>(std::move(figure)); }

}  // namespace headlight::exporting
