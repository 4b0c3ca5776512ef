#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headlight::text {

/// Token strings and their ids. Ids may have gaps. Moves, but doesn't copy: the index points into the token strings.
class Vocabulary {
 public:
  /// One token string for each id from 0; a token string that appears twice is found as its last id.
  explicit Vocabulary(std::vector<std::string> token_strings);
  /// Token strings with their ids, in any order.
  explicit Vocabulary(std::vector<std::pair<std::string, std::uint32_t>> entries);

  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  std::optional<std::uint32_t> find(std::string_view token_string) const {
    const auto entry = ids_.find(token_string);
    return entry == ids_.end() ? std::nullopt : std::optional(entry->second);
  }
  /// nullopt for an id in a gap or beyond the end.
  std::optional<std::string_view> token_string(std::uint32_t id) const;
  /// The number of distinct token strings.
  std::uint32_t size() const { return static_cast<std::uint32_t>(ids_.size()); }
  /// One more than the highest id.
  std::uint32_t id_end() const { return static_cast<std::uint32_t>(token_strings_.size()); }

 private:
  void build_index();

  std::vector<std::string> token_strings_;  ///< [id]
  std::vector<bool> is_gap_;                ///< [id], empty when there are none
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

/// Ids of the tokens "<0x00>" … "<0xFF>", for bytes that no other token contains.
class ByteTokens {
 public:
  explicit ByteTokens(const Vocabulary& vocabulary);
  std::optional<std::uint32_t> find(unsigned char byte) const { return ids_[byte]; }

 private:
  std::array<std::optional<std::uint32_t>, 256> ids_;
};

/// The byte of a token "<0x41>", −1 for any other token string.
int byte_of_token(std::string_view token_string);

}  // namespace headlight::text
