#pragma once

#include <cstdint>
#include <vector>

namespace headlight::text {

/// The token that two neighbouring tokens merge into, and the merge's rank.
struct Merge {
  std::uint32_t rank = 0;
  std::uint32_t id = 0;
};

/// Pairs of ids to merges. An open-addressed table, because a long text does several look-ups per character.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges);

  /// A pair inserted twice keeps the later merge.
  void insert(std::uint32_t left, std::uint32_t right, Merge merge);
  const Merge* find(std::uint32_t left, std::uint32_t right) const;

 private:
  struct Entry {
    std::uint64_t pair = kFree;
    Merge merge;
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  std::size_t slot(std::uint64_t pair) const;

  std::vector<Entry> entries_;  ///< size is a power of two; at most half are in use
  unsigned shift_ = 0;
};

}  // namespace headlight::text
