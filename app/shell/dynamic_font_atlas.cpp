// The atlas of Dear ImGui from 1.92 on, which rasterises a glyph when it is drawn for the first time at a size and a scale.
#include <imgui.h>

#if IMGUI_VERSION_NUM >= 19200

#include <cmath>
#include <new>

#include "app/shell/font_atlas.h"
#include "imgui_internal.h"
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
#include "imgui_freetype.h"
#endif

namespace headlight::shell {
namespace {

/// The data of a source of a font's shaped texts; in memory of ImGui's, as the bytes of a font file are.
struct ShapedSource {
  const ShapedTexts* texts;
  FontKind kind;
  float line;  ///< ImGui's size of the font at the kind's em
};

const std::string* shaped_text(const ImFontConfig& source, ImWchar code) {
  const std::vector<std::string>& texts = static_cast<const ShapedSource*>(source.FontData)->texts->texts();
  const std::size_t index = std::size_t{code} - ShapedTexts::first();
  return code >= ShapedTexts::first() && index < texts.size() ? &texts[index] : nullptr;
}

bool contains_text(ImFontAtlas*, ImFontConfig* source, ImWchar code) { return shaped_text(*source, code) != nullptr; }

/// Draws a text as the glyph of its character. Where `advance` is set, only the width is asked for.
bool load_text(ImFontAtlas* atlas, ImFontConfig* source, ImFontBaked* baked, void*, ImWchar code, ImFontGlyph* glyph,
               float* advance) {
  const std::string* text = shaped_text(*source, code);
  if (text == nullptr) return false;
  const auto& from = *static_cast<const ShapedSource*>(source->FontData);
  const float density = source->RasterizerDensity * baked->RasterizerDensity;
  const TextImage image = draw_text(*text, from.kind.em * baked->Size / from.line * density, from.kind.is_bold());
  const float width = static_cast<float>(image.advance) / density;
  if (advance != nullptr) {
    *advance = width;
    return true;
  }
  glyph->Codepoint = code;
  glyph->AdvanceX = width;
  if (image.width == 0 || image.height == 0) return true;
  const ImFontAtlasRectId place = ImFontAtlasPackAddRect(atlas, image.width, image.height);
  if (place == ImFontAtlasRectId_Invalid) return false;
  glyph->X0 = static_cast<float>(image.left) / density;
  glyph->Y0 = baked->Ascent - static_cast<float>(image.baseline) / density;
  glyph->X1 = glyph->X0 + static_cast<float>(image.width) / density;
  glyph->Y1 = glyph->Y0 + static_cast<float>(image.height) / density;
  glyph->Visible = true;
  glyph->Colored = !image.colors.empty();
  glyph->PackId = place;
  const auto store = [&](const auto& pixels, ImTextureFormat format) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(pixels.data());
    ImFontAtlasBakedSetFontGlyphBitmap(atlas, baked, source, glyph, ImFontAtlasPackGetRect(atlas, place), bytes, format,
                                       image.width * static_cast<int>(sizeof(pixels[0])));
  };
  image.colors.empty() ? store(image.coverage, ImTextureFormat_Alpha8) : store(image.colors, ImTextureFormat_RGBA32);
  return true;
}

const ImFontLoader& text_loader() {
  static const ImFontLoader loader = [] {
    ImFontLoader made;
    made.Name = "shaped texts";
    made.FontSrcContainsGlyph = contains_text;
    made.FontBakedLoadGlyph = load_text;
    return made;
  }();
  return loader;
}

ImFont* add_file(ImFontAtlas& atlas, const FontFile& file, float em, bool is_merged) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.FontNo = static_cast<ImU32>(file.index);
  config.OversampleH = 1;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  config.MergeMode = is_merged;
  // Fonts have letters of their own in the private use area (Inter 4.1), where the shaped texts' characters are.
  const ImWchar of_texts[] = {static_cast<ImWchar>(ShapedTexts::first()), static_cast<ImWchar>(ShapedTexts::last()), 0};
  config.GlyphExcludeRanges = of_texts;  // copied
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
  config.FontLoaderFlags = ImGuiFreeTypeLoaderFlags_LightHinting;
#endif
  // ImGui takes the data as void* but only reads it: it isn't the owner.
  void* data = const_cast<char*>(file.data.data());
  return atlas.AddFontFromMemoryTTF(data, static_cast<int>(file.data.size()), std::round(em * file.line_per_em), &config);
}

}  // namespace

void FontAtlas::build(ImFontAtlas& atlas, float /*scale*/) {
  find_fallbacks();
  const std::size_t texts = shaped_.texts().size();
  if (fonts_.body != nullptr && known_fallbacks_ == fallbacks_.size() && known_texts_ == texts) return;
  known_fallbacks_ = fallbacks_.size();
  known_texts_ = texts;
  atlas.Clear();
  atlas.Flags |= ImFontAtlasFlags_NoMouseCursors;
#ifdef HEADLIGHT_IMGUI_HAS_FREETYPE
  atlas.SetFontLoader(ImGuiFreeType::GetFontLoader());
#endif
  const auto add = [&](const FontFile& file, float em, bool is_merged) { return add_file(atlas, file, em, is_merged); };
  // A source is merged into the font that was added last.
  add_fonts(add, [&](const FontKind& kind) {
    const float line = (fonts_.*kind.font)->LegacySize;
    ImFontConfig config;
    config.FontData =
        new (ImGui::MemAlloc(sizeof(ShapedSource))) ShapedSource{.texts = &shaped_, .kind = kind, .line = line};
    config.FontDataSize = sizeof(ShapedSource);
    config.SizePixels = line;
    config.MergeMode = true;
    config.FontLoader = &text_loader();
    atlas.AddFont(&config);
  });
}

}  // namespace headlight::shell

#endif
