#include "export/pdf_canvas.h"

#include <cairo-pdf.h>

#include <utility>

#include "core/error.h"
#include "export/figure_session.h"

namespace headlight::exporting {
namespace {

Surface make_page(double width, double height, const DrawingOutput& output, std::string& bytes) {
  if (!(width <= kMostPoints && height <= kMostPoints)) {
    throw Error("a page of {:.0f} × {:.0f} points is too large for PDF, at most {:.0f} on each side; save an SVG", width,
                height, kMostPoints);
  }
  const auto append = [](void* target, const unsigned char* some, unsigned int count) {
    static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(some), count);
    return CAIRO_STATUS_SUCCESS;
  };
  Surface surface(cairo_pdf_surface_create_for_stream(append, &bytes, width, height));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) throw Error("no memory for a PDF");
  const auto describe = [&](cairo_pdf_metadata_t key, const std::string& text) {
    if (!text.empty()) cairo_pdf_surface_set_metadata(surface.get(), key, text.c_str());
  };
  describe(CAIRO_PDF_METADATA_TITLE, output.title);
  describe(CAIRO_PDF_METADATA_SUBJECT, output.description);
  describe(CAIRO_PDF_METADATA_CREATOR, "headlight");
  describe(CAIRO_PDF_METADATA_CREATE_DATE, "2000-01-01T00:00:00Z");  // the same figure is the same file
  if (!output.session.empty()) describe(CAIRO_PDF_METADATA_KEYWORDS, marked_session(output.session));
  return surface;
}

}  // namespace

PdfCanvas::PdfCanvas(float width, float height, const DrawingOutput& output)
    : PdfCanvas(width, height, output, std::make_unique<std::string>()) {}

PdfCanvas::PdfCanvas(float width, float height, const DrawingOutput& output, std::unique_ptr<std::string> bytes)
    : CairoCanvas(make_page(static_cast<double>(width) * kPointsPerUnit, static_cast<double>(height) * kPointsPerUnit,
                            output, *bytes),
                  kPointsPerUnit, output.ground, output.font),
      bytes_(std::move(bytes)) {}

std::string PdfCanvas::finish() {
  const std::string trouble = end_surface();
  if (!trouble.empty()) throw Error("can't write the PDF: {}", trouble);
  return std::move(*bytes_);
}

}  // namespace headlight::exporting
