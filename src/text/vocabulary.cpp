#include "text/vocabulary.h"

#include <algorithm>

#include <fmt/format.h>

namespace headlight::text {

Vocabulary::Vocabulary(std::vector<std::string> token_strings) : token_strings_(std::move(token_strings)) { build_index(); }

Vocabulary::Vocabulary(std::vector<std::pair<std::string, std::uint32_t>> entries) {
  std::uint32_t end = 0;
  for (const auto& [token_string, id] : entries) end = std::max(end, id + 1);
  token_strings_.resize(end);
  is_gap_.assign(end, true);
  for (auto& [token_string, id] : entries) {
    token_strings_[id] = std::move(token_string);
    is_gap_[id] = false;
  }
  if (std::find(is_gap_.begin(), is_gap_.end(), true) == is_gap_.end()) is_gap_.clear();
  build_index();
}

void Vocabulary::build_index() {
  ids_.reserve(token_strings_.size());
  for (std::size_t id = 0; id < token_strings_.size(); ++id) {
    if (is_gap_.empty() || !is_gap_[id]) ids_[token_strings_[id]] = static_cast<std::uint32_t>(id);
  }
}

std::optional<std::string_view> Vocabulary::token_string(std::uint32_t id) const {
  if (id >= token_strings_.size() || (!is_gap_.empty() && is_gap_[id])) return std::nullopt;
  return token_strings_[id];
}

ByteTokens::ByteTokens(const Vocabulary& vocabulary) {
  for (unsigned byte = 0; byte < ids_.size(); ++byte) ids_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
}

int byte_of_token(std::string_view token_string) {
  if (token_string.size() != 6 || !token_string.starts_with("<0x") || token_string[5] != '>') return -1;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  const int high = digit(token_string[3]);
  const int low = digit(token_string[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

}  // namespace headlight::text
