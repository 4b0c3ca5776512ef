#include "export/drawing.h"

#include <numbers>

#include <cairo-pdf.h>

#include "core/error.h"
#include "export/figure_session.h"
#include "export/pango_text.h"

namespace headlight::exporting {
namespace {

double wide(float value) { return static_cast<double>(value); }

/// Draws with antialiased text and sharp cells on any surface, at `scale` of its units each.
class CairoCanvas final : public Canvas {
 public:
  CairoCanvas(Surface surface, double scale, const DrawingOutput& output)
      : scale_(scale), font_(output.font), surface_(std::move(surface)), cairo_(cairo_create(surface_.get())) {
    cairo_scale(cairo_.get(), scale, scale);
    layout_ = make_layout(cairo_.get());
    if (!output.ground) return;
    set_color(*output.ground);
    cairo_paint(cairo_.get());
  }

  void fill(Rect rect, Rgb color) override {
    set_color(color);
    add_rect(rect);
    fill_sharply();
  }

  void frame(Rect rect, Rgb color, float width) override {
    set_color(color);
    cairo_set_line_width(cairo_.get(), wide(width));
    add_rect(rect);
    cairo_stroke(cairo_.get());
  }

  void line(glm::vec2 from, glm::vec2 to, Rgb color, float width) override {
    set_color(color);
    cairo_set_line_width(cairo_.get(), wide(width));
    cairo_move_to(cairo_.get(), wide(from.x), wide(from.y));
    cairo_line_to(cairo_.get(), wide(to.x), wide(to.y));
    cairo_stroke(cairo_.get());
  }

  void hatch(std::span<const Rect> rects, Rgb stripe) override {
    // One period, drawn at the image's resolution and repeated.
    const int edge = std::max(2, static_cast<int>(std::lround(wide(kHatchPeriod) * scale_)));
    const Surface tile(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, edge, edge));
    const CairoContext draw(cairo_create(tile.get()));
    cairo_set_source_rgb(draw.get(), stripe.r / 255.0, stripe.g / 255.0, stripe.b / 255.0);
    cairo_set_line_width(draw.get(), wide(kHatchWidth) * scale_);
    cairo_set_line_cap(draw.get(), CAIRO_LINE_CAP_SQUARE);
    for (const int shift : {-edge, 0, edge}) {
      cairo_move_to(draw.get(), shift, edge);
      cairo_line_to(draw.get(), shift + edge, 0);
    }
    cairo_stroke(draw.get());

    const Pattern pattern(cairo_pattern_create_for_surface(tile.get()));
    cairo_pattern_set_extend(pattern.get(), CAIRO_EXTEND_REPEAT);
    cairo_pattern_set_filter(pattern.get(), CAIRO_FILTER_NEAREST);
    cairo_matrix_t to_tile;
    cairo_matrix_init_scale(&to_tile, scale_, scale_);
    cairo_pattern_set_matrix(pattern.get(), &to_tile);
    cairo_set_source(cairo_.get(), pattern.get());
    for (const Rect& rect : rects) add_rect(rect);
    fill_sharply();
  }

  void image(Rect rect, const Pixels& pixels) override {
    const Surface source = files::make_surface(pixels);
    cairo_save(cairo_.get());
    cairo_translate(cairo_.get(), wide(rect.origin.x), wide(rect.origin.y));
    cairo_scale(cairo_.get(), wide(rect.size.x) / pixels.width, wide(rect.size.y) / pixels.height);
    cairo_set_source_surface(cairo_.get(), source.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo_.get()), CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(cairo_.get()), CAIRO_EXTEND_PAD);
    cairo_rectangle(cairo_.get(), 0, 0, pixels.width, pixels.height);
    cairo_fill(cairo_.get());
    cairo_restore(cairo_.get());
  }

  void text(glm::vec2 anchor, std::string_view text, const TextStyle& style) override {
    set_font(layout_.get(), font_, style.size, style.is_bold, style.is_italic);
    pango_layout_set_text(layout_.get(), text.data(), static_cast<int>(text.size()));
    const double width = wide(text_width(layout_.get()));
    const double shift = style.align == TextAlign::Start ? 0.0 : style.align == TextAlign::Middle ? width / 2 : width;
    set_color(style.color);
    cairo_save(cairo_.get());
    cairo_translate(cairo_.get(), wide(anchor.x), wide(anchor.y));
    cairo_rotate(cairo_.get(), -wide(style.degrees) * std::numbers::pi / 180.0);
    cairo_move_to(cairo_.get(), -shift, -static_cast<double>(pango_layout_get_baseline(layout_.get())) / PANGO_SCALE);
    pango_cairo_show_layout(cairo_.get(), layout_.get());
    cairo_restore(cairo_.get());
  }

  /// Ends the page: later drawing is on the document's next page.
  void end_page() { cairo_show_page(cairo_.get()); }

  /// The surface with all that was drawn.
  cairo_surface_t* flushed() {
    cairo_surface_flush(surface_.get());
    return surface_.get();
  }

 private:
  void set_color(Rgb color) { cairo_set_source_rgb(cairo_.get(), color.r / 255.0, color.g / 255.0, color.b / 255.0); }
  void add_rect(Rect rect) {
    cairo_rectangle(cairo_.get(), wide(rect.origin.x), wide(rect.origin.y), wide(rect.size.x), wide(rect.size.y));
  }
  /// So that neighbouring cells leave no seam.
  void fill_sharply() {
    cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_NONE);
    cairo_fill(cairo_.get());
    cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_DEFAULT);
  }

  double scale_;
  FigureFont font_;
  Surface surface_;
  CairoContext cairo_;
  Layout layout_;
};

Surface make_document(double width, double height, const DrawingOutput& output, std::string& bytes) {
  if (!(width <= kMaxPoints && height <= kMaxPoints)) {
    throw Error("a page of {:.0f} × {:.0f} points is too large for PDF, at most {:.0f} on each side; save an SVG", width,
                height, kMaxPoints);
  }
  Surface surface(cairo_pdf_surface_create_for_stream(files::append_to_string, &bytes, width, height));
  cairo_pdf_surface_restrict_to_version(surface.get(), CAIRO_PDF_VERSION_1_4);  // which every TeX includes without a warning
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

/// Paints an image of the size, as many pixels a unit as the output says.
CairoCanvas painted(glm::vec2 size, const DrawingOutput& output, const Draw& draw) {
  const double scale = output.png_scale;
  CairoCanvas canvas(files::make_surface(std::round(wide(size.x) * scale), std::round(wide(size.y) * scale),
                                         output.ground ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32),
                     scale, output);
  draw(canvas);
  return canvas;
}

void draw_squares(Canvas& canvas, glm::vec2 size) {
  constexpr float kSquare = 10.0F;
  canvas.fill({{}, size}, {205, 205, 205});
  for (float y = 0.0F; y < size.y; y += kSquare) {
    for (float x = static_cast<int>(y / kSquare) % 2 == 0 ? 0.0F : kSquare; x < size.x; x += 2.0F * kSquare)
      canvas.fill({{x, y}, glm::vec2(kSquare)}, {235, 235, 235});
  }
}

}  // namespace

Pixels draw_pixels(glm::vec2 size, const DrawingOutput& output, const Draw& draw) {
  CairoCanvas canvas = painted(size, output, [&](Canvas& on) {
    if (!output.ground) draw_squares(on, size);
    draw(on);
  });
  return files::pixels_of(canvas.flushed());
}

std::string draw_png(glm::vec2 size, const DrawingOutput& output, const Draw& draw) {
  CairoCanvas canvas = painted(size, output, draw);
  constexpr double kUnitsAnInch = 96.0;
  std::string png = png_with_resolution(files::png_of(canvas.flushed()), output.png_scale * kUnitsAnInch);
  if (!output.description.empty()) png = png_with_text(std::move(png), "Description", output.description);
  return output.session.empty() ? png : png_with_session(std::move(png), output.session);
}

std::string draw_pdf(glm::vec2 size, const DrawingOutput& output, std::span<const Draw> pages) {
  std::string bytes;
  CairoCanvas canvas(make_document(wide(size.x) * kPointsPerUnit, wide(size.y) * kPointsPerUnit, output, bytes),
                     kPointsPerUnit, output);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i > 0) canvas.end_page();
    pages[i](canvas);
  }
  cairo_surface_t* surface = canvas.flushed();
  cairo_surface_finish(surface);
  const cairo_status_t status = cairo_surface_status(surface);
  if (status != CAIRO_STATUS_SUCCESS) throw Error("can't write the PDF: {}", cairo_status_to_string(status));
  return bytes;
}

}  // namespace headlight::exporting
