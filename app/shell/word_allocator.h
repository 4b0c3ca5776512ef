#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace headlight::shell {

/// Allocates ranges of a buffer of 32-bit words: first fit, adjacent free ranges are joined.
class WordAllocator {
 public:
  /// Adds the words from the present size up to `words`.
  void grow(std::uint32_t words);
  std::uint32_t size() const { return size_; }
  std::uint32_t used() const { return used_; }

  /// Returns the offset of a range of `words` (at least 1), or nullopt when no gap is large enough.
  std::optional<std::uint32_t> allocate(std::uint32_t words);
  /// Frees exactly a range returned by allocate().
  void free(std::uint32_t offset, std::uint32_t words);

 private:
  void add_gap(std::uint32_t offset, std::uint32_t words);

  std::map<std::uint32_t, std::uint32_t> gaps_;  ///< offset → words
  std::uint32_t size_ = 0;
  std::uint32_t used_ = 0;
};

}  // namespace headlight::shell
