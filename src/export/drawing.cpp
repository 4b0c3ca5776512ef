#include "export/drawing.h"

#include <utility>

#include "export/cairo_canvas.h"
#include "export/figure_session.h"
#include "export/pdf_canvas.h"
#include "export/svg_canvas.h"

namespace headlight::exporting {
std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path) {
  if (path.extension() == ".svg") return DrawingFormat::Svg;
  if (path.extension() == ".pdf") return DrawingFormat::Pdf;
  if (path.extension() == ".png") return DrawingFormat::Png;
  return std::nullopt;
}

std::string encode(glm::vec2 size, const DrawingOutput& output, DrawingFormat format,
                   const std::function<void(Canvas& canvas)>& draw) {
  if (format == DrawingFormat::Svg) {
    SvgCanvas canvas(size.x, size.y, output);
    draw(canvas);
    return canvas.finish();
  }
  if (format == DrawingFormat::Pdf) {
    PdfCanvas canvas(size.x, size.y, output);
    draw(canvas);
    return canvas.finish();
  }
  CairoCanvas canvas(size.x, size.y, output.png_scale, output.ground, output.font);
  draw(canvas);
  constexpr double kUnitsAnInch = 96.0;
  std::string png = png_with_resolution(canvas.encode_png(), output.png_scale * kUnitsAnInch);
  return output.session.empty() ? png : png_with_session(std::move(png), output.session);
}

std::string encode(const Drawing& drawing, DrawingFormat format) {
  return encode(drawing.size(), drawing.output(), format, [&](Canvas& canvas) { drawing.draw(canvas); });
}

}  // namespace headlight::exporting
