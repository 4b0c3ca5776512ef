// The atlas of Dear ImGui before 1.92: all glyphs are rasterised for one scale when it is built.
#include <imgui.h>

#if IMGUI_VERSION_NUM < 19200

#include <algorithm>
#include <cmath>

#include "app/shell/font_atlas.h"
#include "core/error.h"
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
#include "imgui_freetype.h"
#endif

namespace headlight::shell {
namespace {

// Columns of an atlas of few characters, which Dear ImGui ends the program over when an image is wider; and of a wider one.
constexpr int kNarrowestAtlas = 512, kWidestAtlas = 4096, kAtlasEdge = 8;

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

void FontAtlas::draw_text_images(ImFontAtlas& atlas, float scale) {
  images_.clear();
  atlas.TexDesiredWidth = 0;
  const std::vector<std::string>& texts = shaped_.texts();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const FontKind& kind : kFontKinds) {
      ShapedGlyph shaped{.font = fonts_.*kind.font,
                         .code = static_cast<ImWchar>(ShapedTexts::first() + i),
                         .text = draw_text(texts[i], kind.em * scale, kind.is_bold())};
      if (shaped.text.width > kNarrowestAtlas - kAtlasEdge) atlas.TexDesiredWidth = kWidestAtlas;
      const auto advance = static_cast<float>(shaped.text.advance);
      // The row above the baseline is known when the atlas is built.
      shaped.rectangle = atlas.AddCustomRectFontGlyph(shaped.font, shaped.code, std::max(shaped.text.width, 1),
                                                      std::max(shaped.text.height, 1), advance,
                                                      ImVec2(static_cast<float>(shaped.text.left), 0.0F));
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
  add_fonts([&](const FontFile& file, float em,
                bool is_merged) { return add_file(atlas, file, em * scale, ranges_.data(), is_merged); },
            [](const FontKind&) {});
  draw_text_images(atlas, scale);
  if (!atlas.Build()) throw Error("the fonts can't be drawn at scale {}; choose a smaller one", scale);
  place_text_images(atlas);
}

}  // namespace headlight::shell

#endif
