#include "export/figure.h"

#include <algorithm>
#include <cmath>

#include "core/atomic_file.h"
#include "core/error.h"
#include "export/cairo_canvas.h"
#include "export/contact_sheet.h"
#include "export/heatmap_figure.h"
#include "export/svg_canvas.h"

namespace headlight::exporting {
namespace {

// With fewer pixels than values, peaks could be lost.
std::uint32_t max_values(const FigureStyle& style) {
  const double scale = style.png_scale;
  if (!(scale >= 0.1 && scale <= 20.0)) throw Error("a PNG scale of {} is out of range; choose one from 0.1 to 20", scale);
  const double edge = style.map_edge > 0.0F ? static_cast<double>(style.map_edge) : kMaxMapEdge;
  return static_cast<std::uint32_t>(std::clamp(std::floor(edge * scale), 1.0, kMaxMapValues));
}

template <typename Drawing>
std::string draw_png(const Drawing& drawing, const FigureStyle& style) {
  CairoCanvas canvas(drawing.width(), drawing.height(), style.png_scale, paper_of(style).ground);
  drawing.draw(canvas);
  return canvas.encode_png();
}

template <typename Drawing>
std::string draw_svg(const Drawing& drawing, const FigureStyle& style, const std::string& title) {
  SvgCanvas canvas(drawing.width(), drawing.height(), paper_of(style).ground, printable(title));
  drawing.draw(canvas);
  return canvas.finish();
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

std::string encode_png(const HeatmapFigure& figure) {
  return draw_png(HeatmapDrawing(figure, max_values(figure.style)), figure.style);
}

std::string encode_png(const ContactSheet& sheet) {
  return draw_png(ContactSheetDrawing(sheet, max_values(sheet.style)), sheet.style);
}

std::string encode_svg(const HeatmapFigure& figure) {
  return draw_svg(HeatmapDrawing(figure, static_cast<std::uint32_t>(kMaxMapValues)), figure.style, figure.title);
}

std::string encode_svg(const ContactSheet& sheet) {
  return draw_svg(ContactSheetDrawing(sheet, static_cast<std::uint32_t>(kMaxMapValues)), sheet.style, sheet.title);
}

void write_png(const std::filesystem::path& path, const HeatmapFigure& figure) {
  write_file_atomically(path, encode_png(figure));
}
void write_png(const std::filesystem::path& path, const ContactSheet& sheet) {
  write_file_atomically(path, encode_png(sheet));
}
void write_svg(const std::filesystem::path& path, const HeatmapFigure& figure) {
  write_file_atomically(path, encode_svg(figure));
}
void write_svg(const std::filesystem::path& path, const ContactSheet& sheet) {
  write_file_atomically(path, encode_svg(sheet));
}

}  // namespace headlight::exporting
