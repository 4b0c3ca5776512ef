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
  std::string all;
  std::vector<std::size_t> ends;  // of each token in `all`
  for (const std::string& label : labels) ends.push_back((all += folded(label)).size());
  for (std::size_t at = all.find(wanted); at != std::string::npos; at = all.find(wanted, at + 1)) {
    const auto token = static_cast<std::uint32_t>(std::ranges::upper_bound(ends, at) - ends.begin());
    if (found.empty() || found.back() != token) found.push_back(token);
  }
  return found;
}

std::optional<std::size_t> step_among(const std::vector<std::uint32_t>& found, std::optional<std::uint32_t> from,
                                      int steps) {
  if (found.empty()) return std::nullopt;
  const auto count = static_cast<std::ptrdiff_t>(found.size());
  std::ptrdiff_t index = 0;
  if (!from) {
    index = steps < 0 ? count - 1 : 0;
  } else if (steps > 0) {
    index = std::ranges::upper_bound(found, *from) - found.begin() + steps - 1;
  } else {
    index = std::ranges::lower_bound(found, *from) - found.begin() + steps;
  }
  return static_cast<std::size_t>((index % count + count) % count);
}

}  // namespace headlight::app
