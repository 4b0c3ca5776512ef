#pragma once

#include <deque>
#include <memory>
#include <span>

#include "app/shell/fonts.h"
#include "app/shell/shaped_text.h"
#include "imgui.h"

namespace headlight::shell {

/// A font file in memory, as the atlas reads it.
struct FontFile {
  std::string path;
  int index = 0;              ///< of the face in a collection
  std::string data;           ///< the whole file
  float line_per_em = 1.2F;   ///< (ascender + descender) / em: ImGui measures fonts by lines, typography by the em
  std::vector<bool> covered;  ///< [0x10000], which code points it has
};

/// Finds installed fonts through fontconfig and keeps their files.
class FontFiles {
 public:
  FontFiles();
  ~FontFiles();
  FontFiles(const FontFiles&) = delete;
  FontFiles& operator=(const FontFiles&) = delete;

  /// Returns the first of the families that is installed, else fontconfig's closest match. Throws Error when there is no
  /// font at all.
  const FontFile& family(std::span<const char* const> families, bool is_bold);
  /// Returns a font that has at least one of the code points, CJK by Noto Sans CJK where installed; nullptr when no font has
  /// any.
  const FontFile* covering(std::span<const std::uint32_t> code_points);
  /// Does any installed font have the character, with outlines or as a picture?
  bool has(std::uint32_t code_point);

 private:
  struct Config;
  const FontFile& load(const std::string& path, int index, std::vector<bool> covered);

  std::unique_ptr<Config> config_;
  std::deque<FontFile> files_;
  std::unordered_map<std::uint32_t, bool> has_;  ///< what was asked so far
};

/// One of the fonts: its family and the size of its em in UI units. ImGui's own size is the line, 1.16 to 1.45 ems high
/// depending on the font.
struct FontKind {
  enum class Family : std::uint8_t { Regular, Strong, Mono };
  ImFont* FontSet::*font;
  Family family;
  float em;

  constexpr bool is_bold() const { return family == Family::Strong; }
};
inline constexpr FontKind kFontKinds[] = {
    {&FontSet::body, FontKind::Family::Regular, 14.0F},    {&FontSet::small, FontKind::Family::Regular, 12.0F},
    {&FontSet::title, FontKind::Family::Strong, 18.0F},    {&FontSet::strong, FontKind::Family::Strong, 14.0F},
    {&FontSet::reading, FontKind::Family::Regular, 26.0F}, {&FontSet::mono, FontKind::Family::Mono, 13.0F},
    {&FontSet::mono_small, FontKind::Family::Mono, 11.0F}, {&FontSet::line, FontKind::Family::Regular, 17.0F},
};

/// Rasterises the fonts of the interface into ImGui's atlas, for one scale and a growing set of characters.
class FontAtlas {
 public:
  FontAtlas();

  /// Adds characters. True when some were added: build() again.
  bool add(std::string_view utf8) { return glyphs_.add(utf8); }
  /// Makes the fonts for `scale` pixels per UI unit anew, where ImGui doesn't rasterise glyphs as they are drawn (from 1.92
  /// on), or where there are further files or shaped texts.
  void build(ImFontAtlas& atlas, float scale);
  const FontSet& fonts() const { return fonts_; }
  /// Texts that are drawn as images.
  ShapedTexts& shaped() { return shaped_; }
  FontFiles& files() { return files_; }

 private:
  void find_fallbacks();
  /// Calls add(file, em, is_merged) for the file of each font and for the fallbacks that are merged into it, then end(kind).
  template <typename Add, typename End>
  void add_fonts(const Add& add, const End& end) {
    for (const FontKind& kind : kFontKinds) {
      const FontFile* main = kind.family == FontKind::Family::Mono     ? mono_
                             : kind.family == FontKind::Family::Strong ? strong_
                                                                       : regular_;
      fonts_.*kind.font = add(*main, kind.em, false);
      for (const FontFile* fallback : fallbacks_) {
        if (fallback != main) add(*fallback, kind.em, true);
      }
      end(kind);
    }
  }
#if IMGUI_VERSION_NUM < 19200
  /// Draws the shaped texts and reserves space in the atlas, filled by place_text_images() once it is built.
  void draw_text_images(ImFontAtlas& atlas, float scale);
  void place_text_images(ImFontAtlas& atlas);
#endif

  FontFiles files_;
  GlyphSet glyphs_;
  ShapedTexts shaped_;
  FontSet fonts_;
#if IMGUI_VERSION_NUM < 19200
  struct ShapedGlyph {
    ImFont* font = nullptr;
    ImWchar code = 0;
    int rectangle = -1;  ///< in the atlas
    TextImage text;
  };
  std::vector<ShapedGlyph> images_;  ///< while the atlas is being built
  std::vector<ImWchar> ranges_;      ///< ImGui keeps a pointer into it: pairs first, last; ends with 0
#else
  std::size_t known_fallbacks_ = 0, known_texts_ = 0;  ///< of the atlas as it was built last
#endif
  const FontFile* regular_ = nullptr;
  const FontFile* strong_ = nullptr;
  const FontFile* mono_ = nullptr;
  std::vector<const FontFile*> fallbacks_;  ///< for characters that the three lack, in order
};

}  // namespace headlight::shell
