#include "export/figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "export/contact_sheet.h"
#include "export/figure_frame.h"
#include "export/heatmap_figure.h"

namespace headlight::exporting {
namespace {

// With fewer pixels than values, peaks could be lost.
std::uint32_t max_values(const FigureStyle& style) {
  const double scale = style.png_scale;
  if (!(scale >= 0.1 && scale <= 20.0)) throw Error("a PNG scale of {} is out of range; choose one from 0.1 to 20", scale);
  const double edge = style.map_edge > 0.0F ? static_cast<double>(style.map_edge) : kMaxMapEdge;
  return static_cast<std::uint32_t>(std::clamp(std::floor(edge * scale), 1.0, kMaxMapValues));
}

/// A PNG has as many values as it has pixels for; vector formats the most.
std::uint32_t values_of(const FigureStyle& style, DrawingFormat format) {
  return format == DrawingFormat::Png ? max_values(style) : static_cast<std::uint32_t>(kMaxMapValues);
}

/// A figure together with its layout, which refers to it.
template <typename Figure, typename Layout>
class FigureDrawing final : public Drawing {
 public:
  FigureDrawing(Figure figure, DrawingFormat format)
      : figure_(std::move(figure)), layout_(figure_, values_of(figure_.style, format)) {}
  FigureDrawing(const FigureDrawing&) = delete;
  FigureDrawing& operator=(const FigureDrawing&) = delete;

  glm::vec2 size() const override { return {layout_.width(), layout_.height()}; }
  DrawingOutput output() const override { return output_of(figure_.style, figure_.title, figure_.session); }
  void draw(Canvas& canvas) const override { layout_.draw(canvas); }

 private:
  Figure figure_;
  Layout layout_;
};

}  // namespace

FigureStyle diverging(FigureStyle style) {
  style.color_map = view::ColorMap::BlueRed;
  style.scale = view::ScaleKind::Symmetric;
  style.spread = view::ScaleSpread::Linear;
  if (style.limits) {
    const float reach = std::max(std::abs(style.limits->low), std::abs(style.limits->high));
    style.limits = {.low = -reach, .high = reach};
  }
  return style;
}

std::string encode(const HeatmapFigure& figure, DrawingFormat format) {
  return encode(*make_drawing(figure, format), format);
}

std::string encode(const ContactSheet& sheet, DrawingFormat format) { return encode(*make_drawing(sheet, format), format); }

std::unique_ptr<Drawing> make_drawing(HeatmapFigure figure, DrawingFormat format) {
  return std::make_unique<FigureDrawing<HeatmapFigure, HeatmapDrawing>>(std::move(figure), format);
}

std::unique_ptr<Drawing> make_drawing(ContactSheet sheet, DrawingFormat format) {
  return std::make_unique<FigureDrawing<ContactSheet, ContactSheetDrawing>>(std::move(sheet), format);
}

}  // namespace headlight::exporting
