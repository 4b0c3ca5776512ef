#include "export/drawing.h"

#include "export/cairo_canvas.h"
#include "export/pdf_canvas.h"
#include "export/svg_canvas.h"
#include "export/text_metrics.h"

namespace headlight::exporting {
namespace {

constexpr double kPngScale = 2.0;

}  // namespace

std::optional<DrawingFormat> drawing_format(const std::filesystem::path& path) {
  if (path.extension() == ".svg") return DrawingFormat::Svg;
  if (path.extension() == ".pdf") return DrawingFormat::Pdf;
  if (path.extension() == ".png") return DrawingFormat::Png;
  return std::nullopt;
}

std::string encode(const Drawing& drawing, DrawingFormat format) {
  const glm::vec2 size = drawing.size();
  if (format == DrawingFormat::Svg) {
    SvgCanvas canvas(size.x, size.y, drawing.ground(), printable(drawing.title()));
    drawing.draw(canvas);
    return canvas.finish();
  }
  if (format == DrawingFormat::Pdf) {
    PdfCanvas canvas(size.x, size.y, drawing.ground(), printable(drawing.title()));
    drawing.draw(canvas);
    return canvas.finish();
  }
  CairoCanvas canvas(size.x, size.y, kPngScale, drawing.ground());
  drawing.draw(canvas);
  return canvas.encode_png();
}

}  // namespace headlight::exporting
