#include "app/shell/font_atlas.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include FT_FREETYPE_H

#include "core/error.h"
#include "core/file.h"

namespace headlight::shell {

// This isn't in the anonymous namespace, since a member of FontFiles::Config has this type.
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

constexpr const char* kSansFamilies[] = {"Inter", "DejaVu Sans", "sans-serif"};
constexpr const char* kMonoFamilies[] = {"DejaVu Sans Mono", "monospace"};
constexpr const char* kSymbolFamilies[] = {"DejaVu Sans", "sans-serif"};
constexpr std::size_t kMaxFallbacks = 8;

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
