#include "app/cli/command_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace headlight::app {

std::vector<std::string> choices_of(const ShownFlag& flag) {
  if (!flag.words.empty()) return flag.words;
  std::vector<std::string> choices;
  for (std::size_t at = 0; at <= flag.value.size();) {
    const std::size_t end = std::min(flag.value.find('|', at), flag.value.size());
    choices.push_back(flag.value.substr(at, end - at));
    at = end + 1;
  }
  const auto is_word = [](const std::string& choice) {
    return !choice.empty() && std::ranges::all_of(choice, [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_';
    });
  };
  if (choices.size() < 2) return {};
  if (takes_path(flag)) choices.erase(choices.begin());  // "FILE|trained"
  return std::ranges::all_of(choices, is_word) ? choices : std::vector<std::string>();
}

bool takes_path(const ShownFlag& flag) {
  constexpr std::array<std::string_view, 4> kPaths = {"FILE", "DIR", "PATH", "FOLDER"};
  return std::ranges::any_of(kPaths, [&](std::string_view path) { return flag.value.starts_with(path); });
}

}  // namespace headlight::app
