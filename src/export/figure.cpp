#include "export/figure.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "export/contact_sheet.h"
#include "export/heatmap_figure.h"
#include "export/text_metrics.h"

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

template <typename Figure, typename FigureDrawing>
std::string encode_as(const Figure& figure, const FigureDrawing& drawing, DrawingFormat format) {
  const FigureStyle& style = figure.style;
  DrawingOutput output = {
      .title = printable(figure.title), .png_scale = style.png_scale, .font = style.font, .session = figure.session};
  if (!style.is_transparent) output.ground = paper_of(style).ground;
  return encode({drawing.width(), drawing.height()}, output, format, [&](Canvas& canvas) { drawing.draw(canvas); });
}

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
  return encode_as(figure, HeatmapDrawing(figure, values_of(figure.style, format)), format);
}

std::string encode(const ContactSheet& sheet, DrawingFormat format) {
  return encode_as(sheet, ContactSheetDrawing(sheet, values_of(sheet.style, format)), format);
}

}  // namespace headlight::exporting
