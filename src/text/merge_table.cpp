#include "text/merge_table.h"

#include <bit>

namespace headlight::text {
namespace {

std::uint64_t to_pair(std::uint32_t left, std::uint32_t right) { return std::uint64_t{left} << 32U | right; }

}  // namespace

MergeTable::MergeTable(std::size_t merges) : entries_(std::bit_ceil(2 * merges + 2)) {
  shift_ = 64U - static_cast<unsigned>(std::countr_zero(entries_.size()));
}

std::size_t MergeTable::slot(std::uint64_t pair) const {
  std::size_t at = (pair * 0x9E3779B97F4A7C15U) >> shift_;  // Fibonacci hashing
  while (entries_[at].pair != kFree && entries_[at].pair != pair) at = (at + 1) & (entries_.size() - 1);
  return at;
}

void MergeTable::insert(std::uint32_t left, std::uint32_t right, Merge merge) {
  const std::uint64_t pair = to_pair(left, right);
  entries_[slot(pair)] = {pair, merge};
}

const Merge* MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const Entry& entry = entries_[slot(to_pair(left, right))];
  return entry.pair == kFree ? nullptr : &entry.merge;
}

}  // namespace headlight::text
