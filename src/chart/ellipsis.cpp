#include "chart/ellipsis.h"

#include <vector>

namespace headlight::chart {

std::string shorten(std::string_view text, float max_width, const MeasureText& measure) {
  if (measure(text) <= max_width) return std::string(text);
  std::vector<std::size_t> cuts;  // byte offsets at which a code point begins
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xc0) != 0x80) cuts.push_back(i);
  }
  std::string best = "…";
  std::size_t low = 0, high = cuts.size();  // cuts[low] fits (or is nothing), cuts[high] does not
  while (low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    std::string candidate = std::string(text.substr(0, cuts[middle])) + "…";
    if (measure(candidate) <= max_width) {
      low = middle;
      best = std::move(candidate);
    } else {
      high = middle;
    }
  }
  return best;
}

}  // namespace headlight::chart
