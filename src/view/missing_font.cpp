#include "view/missing_font.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::view {
namespace {

constexpr const char* kCore = "fonts-noto-core";
constexpr const char* kCjk = "fonts-noto-cjk";

struct Script {
  std::uint32_t first, last;
  const char* name;
  const char* package;
};

constexpr std::array kScripts = {
    Script{0x0530, 0x058F, "Armenian", kCore},
    Script{0x0590, 0x05FF, "Hebrew", kCore},
    Script{0x0600, 0x06FF, "Arabic", kCore},
    Script{0x0700, 0x074F, "Syriac", kCore},
    Script{0x0750, 0x077F, "Arabic", kCore},
    Script{0x08A0, 0x08FF, "Arabic", kCore},
    Script{0x0900, 0x097F, "Devanagari", kCore},
    Script{0x0980, 0x09FF, "Bengali", kCore},
    Script{0x0A00, 0x0A7F, "Gurmukhi", kCore},
    Script{0x0A80, 0x0AFF, "Gujarati", kCore},
    Script{0x0B00, 0x0B7F, "Oriya", kCore},
    Script{0x0B80, 0x0BFF, "Tamil", kCore},
    Script{0x0C00, 0x0C7F, "Telugu", kCore},
    Script{0x0C80, 0x0CFF, "Kannada", kCore},
    Script{0x0D00, 0x0D7F, "Malayalam", kCore},
    Script{0x0D80, 0x0DFF, "Sinhala", kCore},
    Script{0x0E00, 0x0E7F, "Thai", kCore},
    Script{0x0E80, 0x0EFF, "Lao", kCore},
    Script{0x0F00, 0x0FFF, "Tibetan", kCore},
    Script{0x1000, 0x109F, "Myanmar", kCore},
    Script{0x10A0, 0x10FF, "Georgian", kCore},
    Script{0x1100, 0x11FF, "Hangul", kCjk},
    Script{0x1200, 0x139F, "Ethiopic", kCore},
    Script{0x1780, 0x17FF, "Khmer", kCore},
    Script{0x1800, 0x18AF, "Mongolian", kCore},
    Script{0x2E80, 0x2FDF, "Chinese", kCjk},
    Script{0x3000, 0x303F, "Chinese", kCjk},
    Script{0x3040, 0x30FF, "Japanese", kCjk},
    Script{0x3100, 0x9FFF, "Chinese", kCjk},
    Script{0xAC00, 0xD7FF, "Hangul", kCjk},
    Script{0xF900, 0xFAFF, "Chinese", kCjk},
    Script{0xFF00, 0xFFEF, "Japanese", kCjk},
    Script{0x1F000, 0x1FAFF, "emoji", "fonts-noto-color-emoji"},
    Script{0x20000, 0x3FFFF, "Chinese", kCjk},
};

}  // namespace

std::string missing_font_text(std::span<const std::uint32_t> code_points) {
  std::vector<std::string> names, packages;
  const auto add = [](std::vector<std::string>& list, std::string name) {
    if (std::ranges::find(list, name) == list.end()) list.push_back(std::move(name));
  };
  for (const std::uint32_t code_point : code_points) {
    const auto* script = std::ranges::find_if(
        kScripts, [&](const Script& some) { return code_point >= some.first && code_point <= some.last; });
    const bool is_known = script != kScripts.end();
    add(names, is_known ? script->name : fmt::format("U+{:04X}", code_point));
    add(packages, is_known ? script->package : kCore);
  }
  return fmt::format("No installed font has {}: install {}, then start again", fmt::join(names, ", "),
                     fmt::join(packages, " and "));
}

}  // namespace headlight::view
