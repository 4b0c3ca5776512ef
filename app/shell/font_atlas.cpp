#include "app/shell/font_atlas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H

#include "core/atomic_file.h"
#include "core/error.h"
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
#include "imgui_freetype.h"
#endif

namespace headlight::shell {

// Not in the anonymous namespace, since a member of FontFiles::Config has this type.
template <auto Destroy>
struct FontDeleter {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};

namespace {

using Pattern = std::unique_ptr<FcPattern, FontDeleter<FcPatternDestroy>>;
using CharSet = std::unique_ptr<FcCharSet, FontDeleter<FcCharSetDestroy>>;

constexpr std::uint32_t kCodePoints = 0x10000;  // the range of ImGui's 16-bit characters

const FcChar8* fc(const char* text) { return reinterpret_cast<const FcChar8*>(text); }

Pattern outline_pattern(std::span<const char* const> families, bool is_bold) {
  Pattern pattern(FcPatternCreate());
  for (const char* family : families) FcPatternAddString(pattern.get(), FC_FAMILY, fc(family));
  FcPatternAddInteger(pattern.get(), FC_WEIGHT, is_bold ? FC_WEIGHT_DEMIBOLD : FC_WEIGHT_REGULAR);
  FcPatternAddInteger(pattern.get(), FC_SLANT, FC_SLANT_ROMAN);
  FcPatternAddBool(pattern.get(), FC_OUTLINE, FcTrue);
  FcPatternAddBool(pattern.get(), FC_COLOR, FcFalse);
  FcPatternAddBool(pattern.get(), FC_VARIABLE, FcFalse);
  return pattern;
}

std::vector<bool> coverage(FcPattern* font) {
  std::vector<bool> covered(kCodePoints);
  FcCharSet* characters = nullptr;
  if (FcPatternGetCharSet(font, FC_CHARSET, 0, &characters) != FcResultMatch) return covered;
  for (std::uint32_t code = 0; code < kCodePoints; ++code) covered[code] = FcCharSetHasChar(characters, code) == FcTrue;
  return covered;
}

float measure_line_per_em(const FontFile& file) {
  FT_Library library = nullptr;
  FT_Face face = nullptr;
  float result = 0.0F;
  if (FT_Init_FreeType(&library) == 0) {
    const auto bytes = static_cast<FT_Long>(file.data.size());
    const auto* data = reinterpret_cast<const FT_Byte*>(file.data.data());
    if (FT_New_Memory_Face(library, data, bytes, file.index, &face) == 0 && face->units_per_EM > 0) {
      result = static_cast<float>(face->ascender - face->descender) / static_cast<float>(face->units_per_EM);
      FT_Done_Face(face);
    }
    FT_Done_FreeType(library);
  }
  if (result <= 0.0F)
    throw Error("the font {} can't be read; reinstall it (Debian: fonts-inter, fonts-dejavu-core)", file.path);
  return result;
}

// Sizes of the em in UI units: ImGui's own size is the line, 1.16 … 1.45 ems high depending on the font.
constexpr float kBody = 14.0F;
constexpr float kSmall = 12.0F;
constexpr float kTitle = 18.0F;
constexpr float kReading = 26.0F;
constexpr float kMono = 13.0F;
constexpr float kMonoSmall = 11.0F;

constexpr const char* kSansFamilies[] = {"Inter", "DejaVu Sans", "sans-serif"};
constexpr const char* kMonoFamilies[] = {"DejaVu Sans Mono", "monospace"};
constexpr const char* kSymbolFamilies[] = {"DejaVu Sans", "sans-serif"};
constexpr std::size_t kMaxFallbacks = 8;

// Columns of a text's image. Dear ImGui makes an atlas of few characters only 512 wide, and ends the program when an image
// is wider than the atlas; any device has textures 4,096 wide.
constexpr int kNarrowestAtlas = 512, kWidestAtlas = 4096, kAtlasEdge = 8;

/// Leaves as many columns as the widest atlas has room for.
void cut(TextImage& text) {
  const int most = kWidestAtlas - kAtlasEdge;
  if (text.width <= most) return;
  const auto cut_rows = [&](auto& pixels) {
    std::remove_reference_t<decltype(pixels)> kept;
    for (auto row = pixels.begin(); row != pixels.end(); row += text.width) kept.insert(kept.end(), row, row + most);
    pixels = std::move(kept);
  };
  cut_rows(text.coverage);
  cut_rows(text.colors);
  text.width = most;
}

std::vector<ImWchar> as_ranges(const std::vector<std::uint32_t>& code_points) {
  std::vector<ImWchar> ranges;
  for (const std::uint32_t code : code_points) {
    const auto character = static_cast<ImWchar>(code);
    if (!ranges.empty() && ranges.back() + 1 == character) {
      ranges.back() = character;
    } else {
      ranges.push_back(character);
      ranges.push_back(character);
    }
  }
  ranges.push_back(0);
  return ranges;
}

ImFont* add_file(ImFontAtlas& atlas, const FontFile& file, float em_pixels, const ImWchar* ranges, bool is_merged) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.FontNo = file.index;
  config.OversampleH = 1;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  config.MergeMode = is_merged;
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
  config.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
#endif
  const float line_pixels = std::round(em_pixels * file.line_per_em);
  // ImGui takes the data as void* but only reads it: it isn't the owner.
  void* data = const_cast<char*>(file.data.data());
  return atlas.AddFontFromMemoryTTF(data, static_cast<int>(file.data.size()), line_pixels, &config, ranges);
}

}  // namespace

FontAtlas::FontAtlas()
    : regular_(&files_.family(kSansFamilies, false)),
      strong_(&files_.family(kSansFamilies, true)),
      mono_(&files_.family(kMonoFamilies, false)),
      fallbacks_{&files_.family(kSymbolFamilies, false)} {}

void FontAtlas::find_fallbacks() {
  std::vector<std::uint32_t> missing;
  const std::vector<std::uint32_t>& wanted = glyphs_.requested();
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(missing), [&](std::uint32_t code) {
    return !regular_->covered[code] &&
           std::none_of(fallbacks_.begin(), fallbacks_.end(), [&](const FontFile* file) { return file->covered[code]; });
  });
  while (!missing.empty() && fallbacks_.size() < kMaxFallbacks) {
    const FontFile* file = files_.covering(missing);
    if (file == nullptr) break;
    fallbacks_.push_back(file);
    std::erase_if(missing, [&](std::uint32_t code) { return file->covered[code]; });
  }
}

void FontAtlas::draw_text_images(ImFontAtlas& atlas, float scale) {
  const std::array<std::tuple<ImFont*, float, bool>, 7> sizes = {{{fonts_.body, kBody, false},
                                                                  {fonts_.small, kSmall, false},
                                                                  {fonts_.title, kTitle, true},
                                                                  {fonts_.strong, kBody, true},
                                                                  {fonts_.reading, kReading, false},
                                                                  {fonts_.mono, kMono, false},
                                                                  {fonts_.mono_small, kMonoSmall, false}}};
  images_.clear();
  atlas.TexDesiredWidth = 0;
  const std::vector<std::string>& texts = shaped_.texts();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const auto& [font, em, is_bold] : sizes) {
      ShapedGlyph shaped{.font = font,
                         .code = static_cast<ImWchar>(ShapedTexts::first() + i),
                         .text = draw_text(texts[i], em * scale, is_bold)};
      cut(shaped.text);
      if (shaped.text.width > kNarrowestAtlas - kAtlasEdge) atlas.TexDesiredWidth = kWidestAtlas;
      const auto advance = static_cast<float>(shaped.text.advance);
      // The row above the baseline is known when the atlas is built.
      shaped.rectangle =
          atlas.AddCustomRectFontGlyph(font, shaped.code, std::max(shaped.text.width, 1), std::max(shaped.text.height, 1),
                                       advance, ImVec2(static_cast<float>(shaped.text.left), 0.0F));
      images_.push_back(std::move(shaped));
    }
  }
}

void FontAtlas::place_text_images(ImFontAtlas& atlas) {
  if (images_.empty()) return;
  unsigned char* pixels = nullptr;
  int width = 0;
  int height = 0;
  atlas.GetTexDataAsAlpha8(&pixels, &width, &height);
  const auto copy = [&](const ShapedGlyph& shaped, const auto& image, auto* to) {
    const ImFontAtlasCustomRect* at = atlas.GetCustomRectByIndex(shaped.rectangle);
    for (int y = 0; y < shaped.text.height; ++y) {
      std::copy_n(image.begin() + std::ptrdiff_t{y} * shaped.text.width, shaped.text.width,
                  to + std::ptrdiff_t{at->Y + y} * width + at->X);
    }
  };
  std::vector<const ShapedGlyph*> colored;
  for (const ShapedGlyph& shaped : images_) {
    if (!atlas.GetCustomRectByIndex(shaped.rectangle)->IsPacked() || shaped.text.coverage.empty()) continue;
    copy(shaped, shaped.text.coverage, pixels);
    // ImGui returns glyphs as constants, but this one belongs to our custom rectangle.
    auto* glyph = const_cast<ImFontGlyph*>(shaped.font->FindGlyphNoFallback(shaped.code));
    if (glyph == nullptr) continue;
    const float down = std::round(shaped.font->Ascent) - static_cast<float>(shaped.text.baseline);
    glyph->Y0 += down;
    glyph->Y1 += down;
    if (shaped.text.colors.empty()) continue;
    glyph->Colored = 1;  // drawn in the texture's colours
    colored.push_back(&shaped);
  }
  if (!colored.empty()) {
    // White with the coverage as alpha, which is the texture from now on.
    atlas.GetTexDataAsRGBA32(&pixels, &width, &height);
    auto* colors = reinterpret_cast<std::uint32_t*>(pixels);
    for (const ShapedGlyph* shaped : colored) copy(*shaped, shaped->text.colors, colors);
    atlas.TexPixelsUseColors = true;
  }
  images_.clear();
}

void FontAtlas::build(ImFontAtlas& atlas, float scale) {
  find_fallbacks();
  ranges_ = as_ranges(glyphs_.code_points());
  atlas.Clear();
  atlas.Flags |= ImFontAtlasFlags_NoMouseCursors;
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
  atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
#endif
  const auto add = [&](const FontFile& main, float em) {
    ImFont* font = add_file(atlas, main, em * scale, ranges_.data(), false);
    for (const FontFile* fallback : fallbacks_) {
      if (fallback != &main) add_file(atlas, *fallback, em * scale, ranges_.data(), true);
    }
    return font;
  };
  fonts_.body = add(*regular_, kBody);
  fonts_.small = add(*regular_, kSmall);
  fonts_.title = add(*strong_, kTitle);
  fonts_.strong = add(*strong_, kBody);
  fonts_.reading = add(*regular_, kReading);
  fonts_.mono = add(*mono_, kMono);
  fonts_.mono_small = add(*mono_, kMonoSmall);
  draw_text_images(atlas, scale);
  if (!atlas.Build()) throw Error("the fonts can't be drawn at scale {}; choose a smaller one", scale);
  place_text_images(atlas);
}

struct FontFiles::Config {
  std::unique_ptr<FcConfig, FontDeleter<FcConfigDestroy>> fontconfig{FcInitLoadConfigAndFonts()};

  Pattern match(Pattern wanted) const {
    FcConfigSubstitute(fontconfig.get(), wanted.get(), FcMatchPattern);
    FcDefaultSubstitute(wanted.get());
    FcResult result = FcResultNoMatch;
    return Pattern(FcFontMatch(fontconfig.get(), wanted.get(), &result));
  }
};

FontFiles::FontFiles() : config_(std::make_unique<Config>()) {}
FontFiles::~FontFiles() = default;

const FontFile& FontFiles::load(const std::string& path, int index, std::vector<bool> covered) {
  const auto known = std::find_if(files_.begin(), files_.end(),
                                  [&](const FontFile& file) { return file.path == path && file.index == index; });
  if (known != files_.end()) return *known;
  FontFile& file = files_.emplace_back();
  file.path = path;
  file.index = index;
  file.covered = std::move(covered);
  file.data = read_file(path);
  file.line_per_em = measure_line_per_em(file);
  return file;
}

const FontFile& FontFiles::family(std::span<const char* const> families, bool is_bold) {
  const Pattern font = config_->match(outline_pattern(families, is_bold));
  FcChar8* path = nullptr;
  int index = 0;
  if (!font || FcPatternGetString(font.get(), FC_FILE, 0, &path) != FcResultMatch) {
    throw Error("no font is installed; install one (Debian: fonts-inter, fonts-dejavu-core)");
  }
  FcPatternGetInteger(font.get(), FC_INDEX, 0, &index);
  return load(reinterpret_cast<const char*>(path), index & 0xFFFF, coverage(font.get()));
}

const FontFile* FontFiles::covering(std::span<const std::uint32_t> code_points) {
  static constexpr const char* kFamilies[] = {"Noto Sans CJK SC", "Noto Sans CJK JP", "DejaVu Sans", "Noto Sans"};
  Pattern pattern = outline_pattern(kFamilies, false);
  const CharSet wanted(FcCharSetCreate());
  for (const std::uint32_t code : code_points) FcCharSetAddChar(wanted.get(), code);
  FcPatternAddCharSet(pattern.get(), FC_CHARSET, wanted.get());
  const Pattern font = config_->match(std::move(pattern));
  FcChar8* path = nullptr;
  int index = 0;
  if (!font || FcPatternGetString(font.get(), FC_FILE, 0, &path) != FcResultMatch) return nullptr;
  FcPatternGetInteger(font.get(), FC_INDEX, 0, &index);
  FcBool is_colored = FcFalse;
  FcPatternGetBool(font.get(), FC_COLOR, 0, &is_colored);
  if (is_colored == FcTrue) return nullptr;  // pictures, which the atlas can't rasterise
  std::vector<bool> covered = coverage(font.get());
  const bool has_any = std::any_of(code_points.begin(), code_points.end(),
                                   [&](std::uint32_t code) { return code < kCodePoints && covered[code]; });
  if (!has_any) return nullptr;
  return &load(reinterpret_cast<const char*>(path), index & 0xFFFF, std::move(covered));
}

bool FontFiles::has(std::uint32_t code_point) {
  const auto [known, is_new] = has_.try_emplace(code_point, false);
  if (!is_new) return known->second;
  const Pattern pattern(FcPatternCreate());
  const CharSet wanted(FcCharSetCreate());
  FcCharSetAddChar(wanted.get(), code_point);
  FcPatternAddCharSet(pattern.get(), FC_CHARSET, wanted.get());
  using Objects = std::unique_ptr<FcObjectSet, FontDeleter<FcObjectSetDestroy>>;
  using Fonts = std::unique_ptr<FcFontSet, FontDeleter<FcFontSetDestroy>>;
  const Objects objects(FcObjectSetCreate());
  const Fonts fonts(FcFontList(config_->fontconfig.get(), pattern.get(), objects.get()));
  known->second = fonts && fonts->nfont > 0;
  return known->second;
}

}  // namespace headlight::shell
