#include "app/shell/narrow_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "app/shell/glyph_set.h"
#include "imgui.h"

namespace headlight::shell {
namespace {

constexpr std::uint32_t kLargest16 = 0xFFFF;
constexpr bool kIsNarrow = sizeof(ImWchar) == 2;

}  // namespace

NarrowText::NarrowText(std::string_view utf8, const Replace& replace) {
  for (std::size_t at = 0; at < utf8.size();) {
    const std::size_t begin = at;
    const std::uint32_t code = next_code_point(utf8, at);
    const std::string_view character = utf8.substr(begin, at - begin);
    if (kIsNarrow && code > kLargest16) {
      replaced_.push_back(text_.size());
      text_ += replace(character);
    } else {
      text_ += character;
    }
  }
}

std::size_t NarrowText::from_original(std::size_t position) const {
  // The i-th replaced character begins i bytes later in the original, since four bytes are three here.
  std::size_t before = 0;
  while (before < replaced_.size() && replaced_[before] + before < position) ++before;
  return position - before;
}

std::size_t NarrowText::to_original(std::size_t position) const {
  const auto before = std::ranges::lower_bound(replaced_, position);
  return position + static_cast<std::size_t>(std::distance(replaced_.begin(), before));
}

}  // namespace headlight::shell
