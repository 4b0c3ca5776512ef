#include "app/shell/shaped_text.h"

#include <pango/pangocairo.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace headlight::shell {

namespace {

struct Block {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array kBase{Block{0x0020, 0x007E},                         // ASCII
                           Block{0x00A0, 0x017F},                         // Latin-1, Latin Extended-A
                           Block{0x02C6, 0x02DD},                         // spacing accents
                           Block{0x0370, 0x03FF},                         // Greek
                           Block{0x0400, 0x045F},                         // Cyrillic
                           Block{0x0490, 0x0491},                         // Ґ ґ
                           Block{0x1D2C, 0x1D6A},                         // superscript letters, ᵀ among them
                           Block{0x2010, 0x2027},                         // dashes, quotation marks, …
                           Block{0x2030, 0x203A}, Block{0x2070, 0x209C},  // super- and subscripts
                           Block{0x20AC, 0x20AC},                         // €
                           Block{0x2102, 0x2102}, Block{0x210E, 0x210F}, Block{0x211D, 0x211D},
                           Block{0x2190, 0x2199},                                                // arrows
                           Block{0x21A6, 0x21A6}, Block{0x21D0, 0x21D4}, Block{0x2200, 0x2213},  // mathematical operators
                           Block{0x2215, 0x221E}, Block{0x2225, 0x222B}, Block{0x2248, 0x2248},
                           Block{0x2260, 0x2265}, Block{0x226A, 0x226B}, Block{0x2282, 0x2287},
                           Block{0x2295, 0x2299}, Block{0x22A4, 0x22A5}, Block{0x22C5, 0x22C5},
                           Block{0x22EE, 0x22EF}, Block{0x2318, 0x2318}, Block{0x23CE, 0x23CE},
                           Block{0x2400, 0x2424},  // Control Pictures, for tokens that are white space
                           Block{0x25A0, 0x25CF},  // geometric shapes
                           Block{0x2605, 0x2606}, Block{0x2713, 0x2717}, Block{0x2C7C, 0x2C7D},  // ⱼ
                           Block{0xFFFD, 0xFFFD}};

// Alphabets that are added as a whole with one of their letters.
constexpr std::array kAlphabets{Block{0x0180, 0x024F}, Block{0x0250, 0x02AF}, Block{0x0300, 0x036F}, Block{0x0460, 0x052F},
                                Block{0x0530, 0x058F}, Block{0x0590, 0x05FF}, Block{0x0600, 0x06FF}, Block{0x0900, 0x097F},
                                Block{0x0E00, 0x0E7F}, Block{0x10A0, 0x10FF}, Block{0x1E00, 0x1EFF}, Block{0x1F00, 0x1FFF},
                                Block{0x2150, 0x218F}, Block{0x2190, 0x21FF}, Block{0x2200, 0x22FF}, Block{0x2500, 0x257F},
                                Block{0x3000, 0x303F}, Block{0x3040, 0x309F}, Block{0x30A0, 0x30FF}, Block{0xFF01, 0xFF65}};

}  // namespace

std::uint32_t next_code_point(std::string_view utf8, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(utf8[at++]);
  if (lead < 0x80) return lead;
  const int following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (following == 0) return 0xFFFD;
  std::uint32_t code = lead & (0x3FU >> following);
  for (int i = 0; i < following; ++i) {
    if (at >= utf8.size() || (static_cast<unsigned char>(utf8[at]) & 0xC0U) != 0x80U) return 0xFFFD;
    code = code << 6 | (static_cast<unsigned char>(utf8[at++]) & 0x3FU);
  }
  return code;
}

GlyphSet::GlyphSet() : wanted_(0x10000) {
  for (const Block& block : kBase) std::fill(wanted_.begin() + block.first, wanted_.begin() + block.last + 1, true);
}

bool GlyphSet::add(std::string_view utf8) {
  bool is_changed = false;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t code = next_code_point(utf8, at);
    const bool is_private = code >= 0xE000 && code <= 0xF8FF;
    if (code < 0x20 || code >= wanted_.size() || is_private || wanted_[code]) continue;
    is_changed = true;
    requested_.push_back(code);
    wanted_[code] = true;
    for (const Block& block : kAlphabets) {
      if (code >= block.first && code <= block.last) {
        std::fill(wanted_.begin() + block.first, wanted_.begin() + block.last + 1, true);
      }
    }
  }
  return is_changed;
}

std::vector<std::uint32_t> GlyphSet::code_points() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t code = 0; code < wanted_.size(); ++code) {
    if (wanted_[code]) result.push_back(code);
  }
  return result;
}

namespace {

constexpr std::size_t kLongest = 200;  // bytes; an image must fit the atlas

constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 14> kShaped = {{{0x0590, 0x08FF},  // Hebrew, Arabic, Syriac, …
                                                                              {0x0900, 0x0DFF},  // the scripts of India
                                                                              {0x0E00, 0x0FFF},  // Thai, Lao, Tibetan
                                                                              {0x1000, 0x109F},  // Myanmar
                                                                              {0x1700, 0x18AF},  // Khmer, Mongolian, …
                                                                              {0x1900, 0x1AFF},  // Limbu, Tai, Balinese, …
                                                                              {0x1B00, 0x1C4F},
                                                                              {0x1CD0, 0x1CFF},
                                                                              {0x2600, 0x27BF},  // emoji among them
                                                                              {0xA800, 0xABFF},
                                                                              {0xFB1D, 0xFDFF},
                                                                              {0xFE00, 0xFE0F},  // as emoji, or not
                                                                              {0xFE70, 0xFEFE},
                                                                              {0x10000, 0x10FFFF}}};

struct UnrefObject {
  void operator()(void* object) const { g_object_unref(object); }
};
using Layout = std::unique_ptr<PangoLayout, UnrefObject>;
using Font = std::unique_ptr<PangoFontDescription, decltype(&pango_font_description_free)>;
using Cairo = std::unique_ptr<cairo_t, decltype(&cairo_destroy)>;
using Surface = std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)>;

Surface make_surface(int width, int height, cairo_format_t format = CAIRO_FORMAT_A8) {
  return {cairo_image_surface_create(format, std::max(width, 1), std::max(height, 1)), &cairo_surface_destroy};
}

/// May the text have colours? Only emoji have fonts with colours.
bool may_have_colors(std::string_view utf8) {
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t code = next_code_point(utf8, at);
    if ((code >= 0x1F000 && code <= 0x1FAFF) || (code >= 0x2600 && code <= 0x27BF)) return true;
  }
  return false;
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

constexpr double kGrey = 0.56;  // of letters beside emoji: can be read on light and on dark grounds

/// Returns the pixels as RGBA that isn't multiplied by alpha; empty where all of them are grey.
std::vector<std::uint32_t> colors_of(cairo_surface_t* surface, int width, int height) {
  constexpr std::uint32_t kSlack = 8;  // of 255: rounding
  const unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  std::vector<std::uint32_t> colors;
  bool has_color = false;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::uint32_t argb = 0;  // in the machine's byte order
      std::memcpy(&argb, data + std::ptrdiff_t{y} * stride + std::ptrdiff_t{4} * x, sizeof argb);
      const std::uint32_t alpha = argb >> 24U;
      const auto channel = [&](std::uint32_t shift) {
        return alpha == 0 ? 0U : std::min((argb >> shift & 0xFFU) * 255U / alpha, 255U);
      };
      const std::uint32_t red = channel(16), green = channel(8), blue = channel(0);
      has_color = has_color || (alpha > kSlack && std::max({red, green, blue}) - std::min({red, green, blue}) > kSlack);
      colors.push_back(alpha << 24U | blue << 16U | green << 8U | red);
    }
  }
  if (!has_color) colors.clear();
  return colors;
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
  image.width = std::min(ink.width, kWidestTextImage);
  image.height = ink.height;
  image.advance = logical.width;
  image.left = ink.x;
  image.baseline = PANGO_PIXELS(pango_layout_get_baseline(layout.get())) - ink.y;
  if (ink.width <= 0 || ink.height <= 0) return image;

  const auto draw = [&](cairo_surface_t* surface, double grey) {
    const Cairo canvas(cairo_create(surface), &cairo_destroy);
    const Layout drawn = make_layout(canvas.get(), utf8, em_pixels, is_bold);
    cairo_set_source_rgba(canvas.get(), grey, grey, grey, 1.0);
    cairo_move_to(canvas.get(), -ink.x, -ink.y);
    pango_cairo_show_layout(canvas.get(), drawn.get());
    cairo_surface_flush(surface);
  };
  const Surface surface = make_surface(image.width, ink.height);
  draw(surface.get(), 1.0);
  const unsigned char* data = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int y = 0; y < ink.height; ++y) {
    image.coverage.insert(image.coverage.end(), data + std::ptrdiff_t{y} * stride,
                          data + std::ptrdiff_t{y} * stride + image.width);
  }
  if (!may_have_colors(utf8)) return image;
  const Surface colored = make_surface(image.width, ink.height, CAIRO_FORMAT_ARGB32);
  draw(colored.get(), kGrey);
  image.colors = colors_of(colored.get(), image.width, ink.height);
  return image;
}

}  // namespace headlight::shell
