#include "ops/host_mask.h"

#include <algorithm>

#include "ops/host_tile.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kNoPlane = 0x0fffffffu, kPatternShift = 28;

}  // namespace

HostMask::HostMask(const MaskParameters& mask, const std::uint32_t* words, std::uint32_t item, std::uint32_t head,
                   std::uint32_t heads, std::uint32_t keys)
    : mask_(mask), words_(words), keys_(keys) {
  key_begin_ = mask.key_padding != 0 ? words[std::size_t{item} * 2] : 0;
  key_end_ = mask.key_padding != 0 ? std::min(words[std::size_t{item} * 2 + 1], keys) : keys;
  deny_ = load_plane(mask.deny_at, item * heads + head);
  allow_ = load_plane(mask.allow_at, item * heads + head);
  if (mask.deny_at != 0) pattern_ = words[mask.deny_at + item * heads + head] >> kPatternShift;
}

HostMask::Plane HostMask::load_plane(std::uint32_t table_at, std::uint32_t map) const {
  if (table_at == 0) return {};
  const std::uint32_t plane = words_[table_at + map] & kNoPlane;
  if (plane == kNoPlane) return {};
  const std::uint32_t* at = words_ + mask_.planes_at + std::size_t{plane} * 3;
  return {at[0], at[1], at[2]};
}

bool HostMask::has_bit(const Plane& plane, std::uint32_t query, std::uint32_t key) const {
  const std::uint32_t row = query - plane.first;  // huge where the query comes before the plane
  if (row >= plane.rows) return false;
  const std::uint32_t* at = words_ + plane.at + std::size_t{row} * 2;
  const std::uint32_t span = at[1], word = key / 32 - (span & 0xffffu);
  if (word >= span >> 16) return false;
  return (words_[at[0] + word] >> (key % 32) & 1u) != 0;
}

bool HostMask::rule_shows(std::uint32_t query, std::uint32_t key) const {
  const bool is_past = mask_.causal == 0 || key <= query;
  const bool is_near = mask_.window == 0 || (query > key ? query - key : key - query) < mask_.window;
  return key < mask_.prefix || (is_past && is_near);
}

std::uint32_t HostMask::pattern_key(std::uint32_t query) const {
  const std::uint32_t position = pattern_ == kDiagonal ? query : pattern_ == kPrevious ? std::max(query, 1U) - 1 : 0;
  return std::max(key_begin_, std::min(position, key_end_ - 1));
}

bool HostMask::is_visible(std::uint32_t query, std::uint32_t key) const {
  if (pattern_ > kUniform && key != pattern_key(query)) return false;
  if (has_bit(allow_, query, key)) return true;
  return key >= key_begin_ && key < key_end_ && rule_shows(query, key) && !has_bit(deny_, query, key);
}

HostMask::Range HostMask::visited(std::uint32_t first, std::uint32_t last) const {
  if (allow_.has_rows(first, last)) return {0, keys_};
  std::uint32_t begin = key_begin_, end = key_end_;
  if (mask_.causal != 0) end = std::min(end, std::max(last + 1, mask_.prefix));
  if (mask_.window != 0) {
    end = std::min(end, std::max(last + mask_.window, mask_.prefix));
    if (mask_.prefix == 0 && first + 1 > mask_.window) begin = std::max(begin, first + 1 - mask_.window);
  }
  return {std::min(begin, end), end};
}

void HostMask::hide(std::uint32_t query, std::uint32_t first_key, float* scores) const {
  constexpr std::uint32_t kCount = HostTile::kColumns;
  if (pattern_ > kUniform) {
    const std::uint32_t shown = pattern_key(query) - first_key;  // huge where the key comes before the tile
    for (std::uint32_t i = 0; i < kCount; ++i) {
      if (i != shown || !is_visible(query, first_key + i)) scores[i] = kHidden;
    }
    return;
  }
  const bool has_cells = deny_.has_rows(query, query) || allow_.has_rows(query, query);
  if (has_cells || mask_.window != 0) {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      if (first_key + i >= keys_ || !is_visible(query, first_key + i)) scores[i] = kHidden;
    }
    return;
  }
  // Without a window the rule shows one range of keys.
  const std::uint32_t end = mask_.causal != 0 ? std::min(key_end_, std::max(query + 1, mask_.prefix)) : key_end_;
  const std::uint32_t from = std::min(key_begin_ - std::min(key_begin_, first_key), kCount);
  const std::uint32_t to = std::min(end - std::min(end, first_key), kCount);
  std::fill_n(scores, from, kHidden);
  std::fill(scores + to, scores + kCount, kHidden);
}

}  // namespace headlight::ops
