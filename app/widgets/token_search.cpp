#include "app/widgets/token_search.h"

#include <algorithm>

namespace headlight::app {
namespace {

constexpr std::string_view kSpaceMark = "\u00B7";

/// ASCII letters as lower case, spaces as labels mark them.
std::string folded(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == ' ') {
      result += kSpaceMark;
    } else {
      result += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> tokens_with(const std::vector<std::string>& labels, std::string_view text) {
  std::vector<std::uint32_t> found;
  if (text.empty()) return found;
  const std::string wanted = folded(text);
  for (std::size_t token = 0; token < labels.size(); ++token) {
    if (folded(labels[token]).find(wanted) != std::string::npos) found.push_back(static_cast<std::uint32_t>(token));
  }
  return found;
}

std::optional<std::size_t> step_among(const std::vector<std::uint32_t>& found, std::optional<std::uint32_t> from,
                                      int steps) {
  if (found.empty()) return std::nullopt;
  const auto count = static_cast<std::ptrdiff_t>(found.size());
  std::ptrdiff_t place = 0;
  if (!from) {
    place = steps < 0 ? count - 1 : 0;
  } else if (steps > 0) {
    place = std::ranges::upper_bound(found, *from) - found.begin() + steps - 1;
  } else {
    place = std::ranges::lower_bound(found, *from) - found.begin() + steps;
  }
  return static_cast<std::size_t>((place % count + count) % count);
}

}  // namespace headlight::app
