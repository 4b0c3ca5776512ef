#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "app/shell/font_files.h"
#include "app/shell/fonts.h"
#include "app/shell/glyph_set.h"
#include "app/shell/shaped_text.h"
#include "imgui.h"

namespace headlight::shell {

/// Rasterises the fonts of the interface into ImGui's atlas, for one scale and a growing set of characters.
class FontAtlas {
 public:
  FontAtlas();

  /// True when characters were added: build() again.
  bool add(std::string_view utf8) { return glyphs_.add(utf8); }
  /// Replaces the atlas' content by fonts for `scale` pixels per UI unit.
  void build(ImFontAtlas& atlas, float scale);
  const FontSet& fonts() const { return fonts_; }
  /// Texts that are drawn as images.
  ShapedTexts& shaped() { return shaped_; }
  FontFiles& files() { return files_; }

 private:
  void find_fallbacks();
  /// Draws the shaped texts and reserves space in the atlas, filled by place_text_images() once it is built.
  void draw_text_images(ImFontAtlas& atlas, float scale);
  void place_text_images(ImFontAtlas& atlas);

  FontFiles files_;
  GlyphSet glyphs_;
  ShapedTexts shaped_;
  FontSet fonts_;
  struct ShapedGlyph {
    ImFont* font = nullptr;
    ImWchar code = 0;
    int rectangle = -1;  ///< in the atlas
    TextImage text;
  };
  std::vector<ShapedGlyph> images_;  ///< while the atlas is being built
  const FontFile* regular_ = nullptr;
  const FontFile* strong_ = nullptr;
  const FontFile* mono_ = nullptr;
  std::vector<const FontFile*> fallbacks_;  ///< for characters that the three lack, in order
  std::vector<ImWchar> ranges_;             ///< ImGui keeps a pointer into it: pairs first, last; ends with 0
};

}  // namespace headlight::shell
