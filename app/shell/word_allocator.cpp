#include "app/shell/word_allocator.h"

#include <iterator>

namespace headlight::shell {

void WordAllocator::grow(std::uint32_t words) {
  if (words <= size_) return;
  add_gap(size_, words - size_);
  size_ = words;
}

std::optional<std::uint32_t> WordAllocator::allocate(std::uint32_t words) {
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    const auto [offset, length] = *gap;
    if (length < words) continue;
    gaps_.erase(gap);
    if (length > words) gaps_.emplace(offset + words, length - words);
    used_ += words;
    return offset;
  }
  return std::nullopt;
}

void WordAllocator::free(std::uint32_t offset, std::uint32_t words) {
  used_ -= words;
  add_gap(offset, words);
}

void WordAllocator::add_gap(std::uint32_t offset, std::uint32_t words) {
  auto [gap, is_new] = gaps_.emplace(offset, words);
  static_cast<void>(is_new);
  if (const auto next = std::next(gap); next != gaps_.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps_.erase(next);
  }
  if (gap == gaps_.begin()) return;
  if (const auto previous = std::prev(gap); previous->first + previous->second == gap->first) {
    previous->second += gap->second;
    gaps_.erase(gap);
  }
}

}  // namespace headlight::shell
