#include "app/shell/shaped_text.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <pango/pangocairo.h>

#include "app/shell/glyph_set.h"

namespace headlight::shell {
namespace {

constexpr std::size_t kLongest = 200;  // bytes; an image must fit the atlas

constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 12> kShaped = {{{0x0590, 0x08FF},  // Hebrew, Arabic, Syriac, …
                                                                              {0x0900, 0x0DFF},  // the scripts of India
                                                                              {0x0E00, 0x0FFF},  // Thai, Lao, Tibetan
                                                                              {0x1000, 0x109F},  // Myanmar
                                                                              {0x1700, 0x18AF},  // Khmer, Mongolian, …
                                                                              {0x1900, 0x1AFF},  // Limbu, Tai, Balinese, …
                                                                              {0x1B00, 0x1C4F},
                                                                              {0x1CD0, 0x1CFF},
                                                                              {0xA800, 0xABFF},
                                                                              {0xFB1D, 0xFDFF},
                                                                              {0xFE70, 0xFEFE},
                                                                              {0x10000, 0x10FFFF}}};

struct UnrefObject {
  void operator()(void* object) const { g_object_unref(object); }
};
using Layout = std::unique_ptr<PangoLayout, UnrefObject>;
using Font = std::unique_ptr<PangoFontDescription, decltype(&pango_font_description_free)>;
using Cairo = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;
using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

Surface make_surface(int width, int height) {
  return {cairo_image_surface_create(CAIRO_FORMAT_A8, std::max(width, 1), std::max(height, 1)), &cairo_surface_destroy};
}

Layout make_layout(cairo_t* cairo, std::string_view utf8, float em_pixels, bool is_bold) {
  Layout layout(pango_cairo_create_layout(cairo));
  const Font font(pango_font_description_from_string("Inter, DejaVu Sans, sans-serif"), &pango_font_description_free);
  pango_font_description_set_absolute_size(font.get(), static_cast<double>(em_pixels) * PANGO_SCALE);
  if (is_bold) pango_font_description_set_weight(font.get(), PANGO_WEIGHT_SEMIBOLD);
  pango_layout_set_font_description(layout.get(), font.get());
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  pango_layout_set_text(layout.get(), utf8.data(), static_cast<int>(utf8.size()));
  return layout;
}

std::string as_utf8(std::uint32_t code) {  // of the private use area: three bytes
  return {static_cast<char>(0xE0U | code >> 12), static_cast<char>(0x80U | (code >> 6 & 0x3FU)),
          static_cast<char>(0x80U | (code & 0x3FU))};
}

}  // namespace

bool is_right_to_left(std::string_view utf8) {
  // Unicode's blocks for right-to-left scripts; the first letter decides.
  const auto is_of_one = [](std::uint32_t c) {
    return (c >= 0x0590 && c <= 0x08FF) || (c >= 0xFB1D && c <= 0xFDFF) || (c >= 0xFE70 && c <= 0xFEFE) ||
           (c >= 0x10800 && c <= 0x10FFF) || (c >= 0x1E800 && c <= 0x1EFFF);
  };
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t c = next_code_point(utf8, at);
    if (g_unichar_isalpha(c)) return is_of_one(c);
  }
  return false;
}

bool needs_shaping(std::uint32_t code_point) {
  return std::ranges::any_of(kShaped,
                             [&](const auto& block) { return code_point >= block.first && code_point <= block.second; });
}

bool needs_shaping(std::string_view utf8) {
  const auto is_high = [](char byte) { return static_cast<unsigned char>(byte) >= 0xD6; };  // U+0580 and above
  if (std::ranges::none_of(utf8, is_high)) return false;
  for (std::size_t at = 0; at < utf8.size();) {
    if (needs_shaping(next_code_point(utf8, at))) return true;
  }
  return false;
}

std::string ShapedTexts::replace(std::string_view utf8) {
  std::string text(utf8);
  if (utf8.size() > kLongest || !needs_shaping(utf8)) return text;
  const auto known = codes_.find(text);
  if (known != codes_.end()) return as_utf8(known->second);
  const std::uint32_t code = first() + static_cast<std::uint32_t>(texts_.size());
  if (code > last()) return text;
  codes_.emplace(text, code);
  texts_.push_back(std::move(text));
  return as_utf8(code);
}

std::string ShapedTexts::restore(std::string_view utf8) const {
  std::string text;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const std::uint32_t code = next_code_point(utf8, at);
    const bool is_ours = code >= first() && code - first() < texts_.size();
    text += is_ours ? std::string_view(texts_[code - first()]) : utf8.substr(begin, at - begin);
  }
  return text;
}

TextImage draw_text(std::string_view utf8, float em_pixels, bool is_bold) {
  const Surface measure = make_surface(1, 1);
  const Cairo context(cairo_create(measure.get()), &cairo_destroy);
  const Layout layout = make_layout(context.get(), utf8, em_pixels, is_bold);
  PangoRectangle ink, logical;
  pango_layout_get_pixel_extents(layout.get(), &ink, &logical);
  TextImage image;
  image.width = ink.width;
  image.height = ink.height;
  image.advance = logical.width;
  image.left = ink.x;
  image.baseline = PANGO_PIXELS(pango_layout_get_baseline(layout.get())) - ink.y;
  image.has_missing = pango_layout_get_unknown_glyphs_count(layout.get()) > 0;
  if (ink.width <= 0 || ink.height <= 0) return image;

  const Surface surface = make_surface(ink.width, ink.height);
  const Cairo canvas(cairo_create(surface.get()), &cairo_destroy);
  const Layout drawn = make_layout(canvas.get(), utf8, em_pixels, is_bold);
  cairo_set_source_rgba(canvas.get(), 1.0, 1.0, 1.0, 1.0);
  cairo_move_to(canvas.get(), -ink.x, -ink.y);
  pango_cairo_show_layout(canvas.get(), drawn.get());
  cairo_surface_flush(surface.get());
  const unsigned char* data = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int y = 0; y < ink.height; ++y) {
    image.coverage.insert(image.coverage.end(), data + std::ptrdiff_t{y} * stride,
                          data + std::ptrdiff_t{y} * stride + ink.width);
  }
  return image;
}

}  // namespace headlight::shell
