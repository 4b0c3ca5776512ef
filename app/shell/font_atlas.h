#pragma once

#include <string_view>
#include <vector>

#include "imgui.h"
#include "shell/font_files.h"
#include "shell/fonts.h"
#include "shell/glyph_set.h"

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

 private:
  void find_fallbacks();

  FontFiles files_;
  GlyphSet glyphs_;
  FontSet fonts_;
  const FontFile* regular_ = nullptr;
  const FontFile* strong_ = nullptr;
  const FontFile* mono_ = nullptr;
  std::vector<const FontFile*> fallbacks_;  ///< for what the three lack, in order
  std::vector<ImWchar> ranges_;             ///< ImGui keeps a pointer into it: pairs first, last; ends with 0
};

}  // namespace headlight::shell
