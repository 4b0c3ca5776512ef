#include "text/vocabulary.h"

#include <algorithm>

namespace headlight::text {

Vocabulary::Vocabulary(std::vector<std::string> spellings) : spellings_(std::move(spellings)) { build_index(); }

Vocabulary::Vocabulary(std::vector<std::pair<std::string, std::uint32_t>> entries) {
  std::uint32_t end = 0;
  for (const auto& [spelling, id] : entries) end = std::max(end, id + 1);
  spellings_.resize(end);
  is_gap_.assign(end, true);
  for (auto& [spelling, id] : entries) {
    spellings_[id] = std::move(spelling);
    is_gap_[id] = false;
  }
  if (std::find(is_gap_.begin(), is_gap_.end(), true) == is_gap_.end()) is_gap_.clear();
  build_index();
}

void Vocabulary::build_index() {
  ids_.reserve(spellings_.size());
  for (std::size_t id = 0; id < spellings_.size(); ++id) {
    if (is_gap_.empty() || !is_gap_[id]) ids_[spellings_[id]] = static_cast<std::uint32_t>(id);
  }
}

std::optional<std::string_view> Vocabulary::spelling(std::uint32_t id) const {
  if (id >= spellings_.size() || (!is_gap_.empty() && is_gap_[id])) return std::nullopt;
  return spellings_[id];
}

}  // namespace headlight::text
