#include "text/vocabulary.h"

#include <algorithm>

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

}  // namespace headlight::text
