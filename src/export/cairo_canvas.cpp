#include "export/cairo_canvas.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "core/error.h"

namespace headlight::exporting {
namespace {

std::string png_of(cairo_surface_t* surface) {
  std::string png;
  const auto append = [](void* target, const unsigned char* bytes, unsigned int count) {
    static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(bytes), count);
    return CAIRO_STATUS_SUCCESS;
  };
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface, append, &png);
  if (status != CAIRO_STATUS_SUCCESS) throw Error("can't encode the image as PNG: {}", cairo_status_to_string(status));
  return png;
}

Surface make_surface(double width, double height, cairo_format_t format = CAIRO_FORMAT_RGB24) {
  if (!(width <= kLargestImage && height <= kLargestImage)) {
    throw Error(
        "an image of {:.0f} × {:.0f} pixels is too large, at most {:.0f} on each side; lower its resolution, or draw less",
        width, height, kLargestImage);
  }
  Surface surface(
      cairo_image_surface_create(format, static_cast<int>(std::ceil(width)), static_cast<int>(std::ceil(height))));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {
    throw Error("no memory for an image of {:.0f} × {:.0f} pixels; lower its resolution, or draw less", width, height);
  }
  return surface;
}

Surface make_surface(const Pixels& pixels) {
  Surface surface = make_surface(static_cast<double>(pixels.width), static_cast<double>(pixels.height));
  unsigned char* const target = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < pixels.height; ++y) {
    for (std::size_t x = 0; x < pixels.width; ++x) {
      const std::uint32_t rgba = pixels.rgba[y * pixels.width + x];
      const std::uint32_t rgb = (rgba & 0xffU) << 16 | (rgba & 0xff00U) | ((rgba >> 16) & 0xffU);
      std::memcpy(target + y * stride + x * 4, &rgb, sizeof rgb);
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

double wide(float value) { return static_cast<double>(value); }

void add_rect(cairo_t* cairo, Rect rect) {
  cairo_rectangle(cairo, wide(rect.origin.x), wide(rect.origin.y), wide(rect.size.x), wide(rect.size.y));
}

}  // namespace

std::string encode_png(const Pixels& pixels) { return png_of(make_surface(pixels).get()); }

CairoCanvas::CairoCanvas(float width, float height, double scale, std::optional<Rgb> paper, FigureFont font)
    : CairoCanvas(make_surface(std::round(wide(width) * scale), std::round(wide(height) * scale),
                               paper ? CAIRO_FORMAT_RGB24 : CAIRO_FORMAT_ARGB32),
                  scale, paper, font) {}

CairoCanvas::CairoCanvas(Surface surface, double scale, std::optional<Rgb> paper, FigureFont font)
    : scale_(scale), font_(font), surface_(std::move(surface)), cairo_(cairo_create(surface_.get())) {
  cairo_scale(cairo_.get(), scale, scale);
  layout_ = make_layout(cairo_.get());
  if (!paper) return;
  set_color(*paper);
  cairo_paint(cairo_.get());
}

void CairoCanvas::set_color(Rgb color) {
  cairo_set_source_rgb(cairo_.get(), color.r / 255.0, color.g / 255.0, color.b / 255.0);
}

void CairoCanvas::fill(Rect rect, Rgb color) {
  set_color(color);
  cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_NONE);  // neighbouring cells leave no seam
  add_rect(cairo_.get(), rect);
  cairo_fill(cairo_.get());
  cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_DEFAULT);
}

void CairoCanvas::frame(Rect rect, Rgb color, float width) {
  set_color(color);
  cairo_set_line_width(cairo_.get(), wide(width));
  add_rect(cairo_.get(), rect);
  cairo_stroke(cairo_.get());
}

void CairoCanvas::line(glm::vec2 from, glm::vec2 to, Rgb color, float width) {
  set_color(color);
  cairo_set_line_width(cairo_.get(), wide(width));
  cairo_move_to(cairo_.get(), wide(from.x), wide(from.y));
  cairo_line_to(cairo_.get(), wide(to.x), wide(to.y));
  cairo_stroke(cairo_.get());
}

void CairoCanvas::hatch(std::span<const Rect> rects, Rgb stripe) {
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
  for (const Rect& rect : rects) add_rect(cairo_.get(), rect);
  cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_NONE);
  cairo_fill(cairo_.get());
  cairo_set_antialias(cairo_.get(), CAIRO_ANTIALIAS_DEFAULT);
}

void CairoCanvas::image(Rect rect, const Pixels& pixels) {
  const Surface source = make_surface(pixels);
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

void CairoCanvas::text(glm::vec2 anchor, std::string_view text, const TextStyle& style) {
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

void CairoCanvas::end_page() { cairo_show_page(cairo_.get()); }

std::string CairoCanvas::end_surface() {
  cairo_surface_finish(surface_.get());
  const cairo_status_t status = cairo_surface_status(surface_.get());
  return status == CAIRO_STATUS_SUCCESS ? std::string() : cairo_status_to_string(status);
}

std::string CairoCanvas::encode_png() const {
  cairo_surface_flush(surface_.get());
  return png_of(surface_.get());
}

}  // namespace headlight::exporting
