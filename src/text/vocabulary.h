#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headlight::text {

/// Spellings and their ids. Ids may have gaps. Moves, but doesn't copy: the index points into the spellings.
class Vocabulary {
 public:
  /// One spelling for each id from 0; a spelling that appears twice is found as its last id.
  explicit Vocabulary(std::vector<std::string> spellings);
  /// Spellings with their ids, in any order.
  explicit Vocabulary(std::vector<std::pair<std::string, std::uint32_t>> entries);

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  std::optional<std::uint32_t> find(std::string_view spelling) const {
    const auto entry = ids_.find(spelling);
    return entry == ids_.end() ? std::nullopt : std::optional(entry->second);
  }
  /// Nothing for an id in a gap or beyond the end.
  std::optional<std::string_view> spelling(std::uint32_t id) const;
  /// How many spellings there are.
  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  /// One more than the highest id.
  std::uint32_t id_end() const { return static_cast<std::uint32_t>(spellings_.size()); }

 private:
  void build_index();

  std::vector<std::string> spellings_;  ///< [id]
  std::vector<bool> is_gap_;            ///< [id], empty when there are none
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

}  // namespace headlight::text
