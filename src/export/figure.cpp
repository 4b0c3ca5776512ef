#include "export/figure.h"

#include "core/error.h"
#include "export/figure_frame.h"

namespace headlight::exporting {
std::uint32_t max_values(const FigureStyle& style, DrawingFormat format) {
  if (format != DrawingFormat::Png) return static_cast<std::uint32_t>(kMaxMapValues);
  const double scale = style.png_scale;  // with fewer pixels than values, peaks could be lost
  if (!(scale >= 0.1 && scale <= 20.0)) throw Error("a PNG scale of {} is out of range; choose one from 0.1 to 20", scale);
  const double edge = style.map_edge > 0.0F ? static_cast<double>(style.map_edge) : kMaxMapEdge;
  return static_cast<std::uint32_t>(std::clamp(std::floor(edge * scale), 1.0, kMaxMapValues));
}

FigureStyle diverging(FigureStyle style) {
  style.color_map = chart::diverging(style.is_dark);
  style.scale = chart::ScaleKind::Symmetric;
  style.spread = chart::ScaleSpread::Linear;
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

}  // namespace headlight::exporting
