#include "app/shell/glyph_set.h"

#include <algorithm>
#include <array>

namespace headlight::shell {
namespace {

struct Block {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array kBase{Block{0x0020, 0x007E},                         // ASCII
                           Block{0x00A0, 0x017F},                         // Latin-1, Latin Extended-A
                           Block{0x02C6, 0x02DD},                         // spacing accents
                           Block{0x0370, 0x03FF},                         // Greek
                           Block{0x0400, 0x045F},                         // Cyrillic
                           Block{0x0490, 0x0491},                         // Ґ ґ
                           Block{0x1D2C, 0x1D6A},                         // superscript letters, ᵀ among them
                           Block{0x2010, 0x2027},                         // dashes, quotation marks, …
                           Block{0x2030, 0x203A}, Block{0x2070, 0x209C},  // super- and subscripts
                           Block{0x20AC, 0x20AC},                         // €
                           Block{0x2102, 0x2102}, Block{0x210E, 0x210F}, Block{0x211D, 0x211D},
                           Block{0x2190, 0x2199},                                                // arrows
                           Block{0x21A6, 0x21A6}, Block{0x21D0, 0x21D4}, Block{0x2200, 0x2213},  // mathematical operators
                           Block{0x2215, 0x221E}, Block{0x2225, 0x222B}, Block{0x2248, 0x2248},
                           Block{0x2260, 0x2265}, Block{0x226A, 0x226B}, Block{0x2282, 0x2287},
                           Block{0x2295, 0x2299}, Block{0x22A4, 0x22A5}, Block{0x22C5, 0x22C5},
                           Block{0x22EE, 0x22EF}, Block{0x2318, 0x2318}, Block{0x23CE, 0x23CE},
                           Block{0x2400, 0x2424},  // Control Pictures, for tokens that are white space
                           Block{0x25A0, 0x25CF},  // geometric shapes
                           Block{0x2605, 0x2606}, Block{0x2713, 0x2717}, Block{0x2C7C, 0x2C7D},  // ⱼ
                           Block{0xFFFD, 0xFFFD}};

// Alphabets that are added as a whole with one of their letters.
constexpr std::array kAlphabets{Block{0x0180, 0x024F}, Block{0x0250, 0x02AF}, Block{0x0300, 0x036F}, Block{0x0460, 0x052F},
                                Block{0x0530, 0x058F}, Block{0x0590, 0x05FF}, Block{0x0600, 0x06FF}, Block{0x0900, 0x097F},
                                Block{0x0E00, 0x0E7F}, Block{0x10A0, 0x10FF}, Block{0x1E00, 0x1EFF}, Block{0x1F00, 0x1FFF},
                                Block{0x2150, 0x218F}, Block{0x2190, 0x21FF}, Block{0x2200, 0x22FF}, Block{0x2500, 0x257F},
                                Block{0x3000, 0x303F}, Block{0x3040, 0x309F}, Block{0x30A0, 0x30FF}, Block{0xFF01, 0xFF65}};

}  // namespace

std::uint32_t next_code_point(std::string_view utf8, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(utf8[at++]);
  if (lead < 0x80) return lead;
  const int following = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  if (following == 0) return 0xFFFD;
  std::uint32_t code = lead & (0x3FU >> following);
  for (int i = 0; i < following; ++i) {
    if (at >= utf8.size() || (static_cast<unsigned char>(utf8[at]) & 0xC0U) != 0x80U) return 0xFFFD;
    code = code << 6 | (static_cast<unsigned char>(utf8[at++]) & 0x3FU);
  }
  return code;
}

GlyphSet::GlyphSet() : wanted_(0x10000) {
  for (const Block& block : kBase) std::fill(wanted_.begin() + block.first, wanted_.begin() + block.last + 1, true);
}

bool GlyphSet::add(std::string_view utf8) {
  bool is_changed = false;
  for (std::size_t at = 0; at < utf8.size();) {
    const std::uint32_t code = next_code_point(utf8, at);
    const bool is_private = code >= 0xE000 && code <= 0xF8FF;
    if (code < 0x20 || code >= wanted_.size() || is_private || wanted_[code]) continue;
    is_changed = true;
    requested_.push_back(code);
    wanted_[code] = true;
    for (const Block& block : kAlphabets) {
      if (code >= block.first && code <= block.last) {
        std::fill(wanted_.begin() + block.first, wanted_.begin() + block.last + 1, true);
      }
    }
  }
  return is_changed;
}

std::vector<std::uint32_t> GlyphSet::code_points() const {
  std::vector<std::uint32_t> result;
  for (std::uint32_t code = 0; code < wanted_.size(); ++code) {
    if (wanted_[code]) result.push_back(code);
  }
  return result;
}

}  // namespace headlight::shell
