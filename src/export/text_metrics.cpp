#include "export/text_metrics.h"

#include <set>

#include "core/error.h"
#include "export/pango_text.h"
#include "platform/memory.h"

namespace headlight::exporting {
namespace {

/// Throws Error where the address space has no room for fonts. GLib and fontconfig end the program when memory for a
/// thread or a list of fonts is missing, so a program with a limit of its address space asks first: four threads of
/// Pango's have stacks and heaps.
void expect_memory() {
  constexpr std::size_t kMib = std::size_t{1} << 20, kNeeded_mib = 256;
  if (platform::has_address_space(kNeeded_mib * kMib)) return;
  throw Error("no memory to load fonts: {} MiB of address space are needed; raise the limit (ulimit -v)", kNeeded_mib);
}

/// Without a font Pango draws a box for every character and reports no error.
void expect_fonts(PangoContext* context) {
  const Font wanted(pango_font_description_from_string(font_families(FigureFont::Sans)));
  PangoFont* font = pango_context_load_font(context, wanted.get());  // its list of families has aliases without fonts
  if (font == nullptr) throw Error("no font is installed; install one (Debian: fonts-inter, fonts-dejavu-core)");
  g_object_unref(font);
}

}  // namespace

const char* font_families(FigureFont font) {
  return font == FigureFont::Serif ? "Latin Modern Roman, LM Roman 10, CMU Serif, DejaVu Serif, serif"
                                   : "Inter, DejaVu Sans, sans-serif";
}

bool has_font(FigureFont font) {
  if (font == FigureFont::Sans) return true;  // what a system has will do
  PangoFontFamily** families = nullptr;
  int count = 0;
  pango_font_map_list_families(pango_cairo_font_map_get_default(), &families, &count);
  const bool is_there = std::any_of(families, families + count, [](PangoFontFamily* family) {
    const std::string_view name = pango_font_family_get_name(family);
    return name == "Latin Modern Roman" || name == "LM Roman 10" || name == "CMU Serif";
  });
  g_free(static_cast<void*>(families));
  return is_there;
}

Layout make_layout(cairo_t* cairo) {
  expect_memory();
  Layout layout(pango_cairo_create_layout(cairo));
  PangoContext* context = pango_layout_get_context(layout.get());
  expect_fonts(context);
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options(context, options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context, FALSE);
  pango_layout_set_single_paragraph_mode(layout.get(), TRUE);
  return layout;
}

void set_font(PangoLayout* layout, FigureFont family, float size, bool is_bold, bool is_italic) {
  const Font font(pango_font_description_from_string(font_families(family)));
  pango_font_description_set_absolute_size(font.get(), static_cast<double>(size) * PANGO_SCALE);
  pango_font_description_set_weight(font.get(), is_bold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
  pango_font_description_set_style(font.get(), is_italic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL);
  pango_layout_set_font_description(layout, font.get());
}

float text_width(PangoLayout* layout) {
  PangoRectangle logical;
  pango_layout_get_extents(layout, nullptr, &logical);
  return static_cast<float>(logical.width) / static_cast<float>(PANGO_SCALE);
}

struct TextMetrics::State {
  Surface surface{cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1)};
  CairoContext cairo{cairo_create(surface.get())};
  Layout layout = make_layout(cairo.get());
  FigureFont font = FigureFont::Sans;
  float size = 0.0F;
  bool is_bold = false;
};

TextMetrics::TextMetrics(FigureFont font) : state_(std::make_unique<State>()) { state_->font = font; }
TextMetrics::~TextMetrics() = default;

float TextMetrics::width(std::string_view text, float size, bool is_bold) const {
  if (size != state_->size || is_bold != state_->is_bold) {
    set_font(state_->layout.get(), state_->font, size, is_bold, false);
    state_->size = size;
    state_->is_bold = is_bold;
  }
  pango_layout_set_text(state_->layout.get(), text.data(), static_cast<int>(text.size()));
  return text_width(state_->layout.get());
}

std::vector<std::uint32_t> TextMetrics::without_font(std::string_view text) const {
  PangoLayout* layout = state_->layout.get();
  std::set<std::uint32_t> missing;
  const char* end = text.data() + text.size();
  for (const char *at = text.data(), *next = at; at < end; at = next) {
    next = g_utf8_next_char(at);
    if (next == at + 1) continue;  // every font has letters; line ends are no characters
    pango_layout_set_text(layout, at, static_cast<int>(next - at));
    if (pango_layout_get_unknown_glyphs_count(layout) > 0) missing.insert(g_utf8_get_char(at));
  }
  return {missing.begin(), missing.end()};
}

bool TextMetrics::is_right_to_left(std::string_view text) const {
  PangoLayout* layout = state_->layout.get();
  pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
  return pango_layout_get_direction(layout, 0) == PANGO_DIRECTION_RTL;
}

chart::MeasureText TextMetrics::measure(float size, bool is_bold) const {
  return [this, size, is_bold](std::string_view text) { return width(text, size, is_bold); };
}

std::string printable(std::string_view token) {
  std::unique_ptr<char, decltype(&g_free)> valid(g_utf8_make_valid(token.data(), static_cast<gssize>(token.size())), g_free);
  std::string text;
  for (const char* at = valid.get(); *at != '\0'; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte >= 0x20 && byte != 0x7f) {
      text += *at;
    } else {  // U+2400 … U+2421: Control Pictures
      text += "\xe2\x90";
      text += byte == 0x7f ? '\xa1' : static_cast<char>(0x80 + byte);
    }
  }
  return text;
}

std::vector<std::string> wrap(std::string_view text, float width, const chart::MeasureText& measure) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view paragraph = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    std::string line;
    while (!paragraph.empty()) {
      const std::size_t space = paragraph.find(' ');
      const std::string word = printable(paragraph.substr(0, space));
      paragraph.remove_prefix(space == std::string_view::npos ? paragraph.size() : space + 1);
      const std::string longer = line.empty() ? word : line + ' ' + word;
      if (measure(longer) <= width) {
        line = longer;
        continue;
      }
      if (!line.empty()) lines.push_back(line);
      line = chart::shorten(word, width, measure);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace headlight::exporting
