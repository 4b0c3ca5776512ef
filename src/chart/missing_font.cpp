#include "chart/missing_font.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::chart {
namespace {

/// First and last character in hexadecimal digits, the script's name, and Debian's package with a font for it.
constexpr const char* kScripts =
    "0530 058F Armenian fonts-noto-core\n"
    "0590 05FF Hebrew fonts-noto-core\n"
    "0600 06FF Arabic fonts-noto-core\n"
    "0700 074F Syriac fonts-noto-core\n"
    "0750 077F Arabic fonts-noto-core\n"
    "08A0 08FF Arabic fonts-noto-core\n"
    "0900 097F Devanagari fonts-noto-core\n"
    "0980 09FF Bengali fonts-noto-core\n"
    "0A00 0A7F Gurmukhi fonts-noto-core\n"
    "0A80 0AFF Gujarati fonts-noto-core\n"
    "0B00 0B7F Oriya fonts-noto-core\n"
    "0B80 0BFF Tamil fonts-noto-core\n"
    "0C00 0C7F Telugu fonts-noto-core\n"
    "0C80 0CFF Kannada fonts-noto-core\n"
    "0D00 0D7F Malayalam fonts-noto-core\n"
    "0D80 0DFF Sinhala fonts-noto-core\n"
    "0E00 0E7F Thai fonts-noto-core\n"
    "0E80 0EFF Lao fonts-noto-core\n"
    "0F00 0FFF Tibetan fonts-noto-core\n"
    "1000 109F Myanmar fonts-noto-core\n"
    "10A0 10FF Georgian fonts-noto-core\n"
    "1100 11FF Hangul fonts-noto-cjk\n"
    "1200 139F Ethiopic fonts-noto-core\n"
    "1780 17FF Khmer fonts-noto-core\n"
    "1800 18AF Mongolian fonts-noto-core\n"
    "2E80 2FDF Chinese fonts-noto-cjk\n"
    "3000 303F Chinese fonts-noto-cjk\n"
    "3040 30FF Japanese fonts-noto-cjk\n"
    "3100 9FFF Chinese fonts-noto-cjk\n"
    "AC00 D7FF Hangul fonts-noto-cjk\n"
    "F900 FAFF Chinese fonts-noto-cjk\n"
    "FF00 FFEF Japanese fonts-noto-cjk\n"
    "1F000 1FAFF emoji fonts-noto-color-emoji\n"
    "20000 3FFFF Chinese fonts-noto-cjk\n";

/// The script's name and the package; without a line the character's number and the package with the most scripts.
std::pair<std::string, std::string> script_of(std::uint32_t code_point) {
  std::istringstream lines(kScripts);
  std::uint32_t first = 0, last = 0;
  std::string name, package;
  while (lines >> std::hex >> first >> last >> name >> package) {
    if (code_point >= first && code_point <= last) return {name, package};
  }
  return {fmt::format("U+{:04X}", code_point), "fonts-noto-core"};
}

}  // namespace

std::string missing_font_text(std::span<const std::uint32_t> code_points) {
  std::vector<std::string> names, packages;
  const auto add = [](std::vector<std::string>& list, std::string name) {
    if (std::ranges::find(list, name) == list.end()) list.push_back(std::move(name));
  };
  for (const std::uint32_t code_point : code_points) {
    auto [name, package] = script_of(code_point);
    add(names, std::move(name));
    add(packages, std::move(package));
  }
  return fmt::format("No installed font has {}: install {}, then start again", fmt::join(names, ", "),
                     fmt::join(packages, " and "));
}

}  // namespace headlight::chart
