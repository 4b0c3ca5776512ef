#include "ops/host_mask.h"

#include <algorithm>
#include <bit>

#include "ops/host_tile.h"
#include "ops/mask_data.h"

namespace headlight::ops {
namespace {

constexpr std::uint32_t kNoPlane = 0x0fffffffu, kPatternShift = 28;
// Fields of what kernels compiled at run time read (shaders/lib/expression.glsl).
constexpr std::uint32_t kQueries = 3, kPaintTable = 11, kDocuments = 12;

}  // namespace

HostMask::HostMask(const MaskParameters& mask, const std::uint32_t* words, std::uint32_t item, std::uint32_t head,
                   std::uint32_t heads, std::uint32_t keys)
    : mask_(mask), words_(words), keys_(keys) {
  key_begin_ = mask.key_padding != 0 ? words[std::size_t{item} * 2] : 0;
  key_end_ = mask.key_padding != 0 ? std::min(words[std::size_t{item} * 2 + 1], keys) : keys;
  deny_ = load_plane(mask.deny_at, item * heads + head);
  allow_ = load_plane(mask.allow_at, item * heads + head);
  if (mask.deny_at != 0) pattern_ = words[mask.deny_at + item * heads + head] >> kPatternShift;
  if (mask.expressions_at == 0) return;
  const std::uint32_t* fields = words + mask.expressions_at;
  if (fields[kPaintTable] != 0) paint_ = words[fields[kPaintTable] + item * heads + head];
  if (fields[kDocuments] != 0) documents_ = words + fields[kDocuments] + std::size_t{item} * fields[kQueries] * 2;
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
  if (shows_one_key() && key != pattern_key(query)) return false;
  if (pattern_ == kPainted && row_paint(query) == kReplacedRow && find_paint(query, key) == nullptr) return false;
  if (has_bit(allow_, query, key)) return true;
  const Range of_document = document(query);
  if (key < of_document.begin || key >= of_document.end) return false;
  return key >= key_begin_ && key < key_end_ && rule_shows(query, key) && !has_bit(deny_, query, key);
}

HostMask::Range HostMask::document(std::uint32_t query) const {
  if (documents_ == nullptr) return {0, keys_};
  return {documents_[std::size_t{query} * 2], documents_[std::size_t{query} * 2 + 1]};
}

std::uint32_t HostMask::row_paint(std::uint32_t query) const {
  if (paint_ == 0) return 0;
  const std::uint32_t* plane = words_ + paint_;
  const std::uint32_t row = query - plane[0];  // huge where the query comes before the plane
  if (row >= plane[1]) return 0;
  return plane[4 + row / 16] >> (row % 16 * 2) & 3u;
}

const std::uint32_t* HostMask::find_paint(std::uint32_t query, std::uint32_t key) const {
  const std::uint32_t* plane = words_ + paint_;
  const std::uint32_t* slots = plane + 4 + (plane[1] + 15) / 16;
  for (const std::uint32_t hash : paint_hashes(query, key, plane[3])) {
    const std::uint32_t* slot = slots + std::size_t{paint_slot(hash, plane[2])} * 3;
    if (slot[0] == query && slot[1] == key) return slot + 2;
  }
  return nullptr;
}

void HostMask::add_paint(std::uint32_t query, std::uint32_t first_key, float* scores) const {
  const std::uint32_t kind = row_paint(query);
  if (kind == 0) return;
  for (std::uint32_t i = 0; i < HostTile::kColumns; ++i) {
    const std::uint32_t* word = find_paint(query, first_key + i);
    const float number = word == nullptr ? 0.0f : std::bit_cast<float>(*word);
    scores[i] = kind == kReplacedRow ? number : scores[i] + number;
  }
}

HostMask::Range HostMask::visited(std::uint32_t first, std::uint32_t last) const {
  if (allow_.has_rows(first, last)) return {0, keys_};
  std::uint32_t begin = key_begin_, end = key_end_;
  if (mask_.causal != 0) end = std::min(end, std::max(last + 1, mask_.prefix));
  if (mask_.window != 0) {
    end = std::min(end, std::max(last + mask_.window, mask_.prefix));
    if (mask_.prefix == 0 && first + 1 > mask_.window) begin = std::max(begin, first + 1 - mask_.window);
  }
  begin = std::max(begin, document(first).begin);
  end = std::min(end, document(last).end);
  return {std::min(begin, end), end};
}

void HostMask::hide(std::uint32_t query, std::uint32_t first_key, float* scores) const {
  constexpr std::uint32_t kCount = HostTile::kColumns;
  if (shows_one_key()) {
    const std::uint32_t shown = pattern_key(query) - first_key;  // huge where the key comes before the tile
    for (std::uint32_t i = 0; i < kCount; ++i) {
      if (i != shown || !is_visible(query, first_key + i)) scores[i] = kHidden;
    }
    return;
  }
  const bool has_cells = deny_.has_rows(query, query) || allow_.has_rows(query, query) ||
                         (pattern_ == kPainted && row_paint(query) == kReplacedRow);
  if (has_cells || mask_.window != 0) {
    for (std::uint32_t i = 0; i < kCount; ++i) {
      if (first_key + i >= keys_ || !is_visible(query, first_key + i)) scores[i] = kHidden;
    }
    return;
  }
  // The rule shows one range of keys where there is no window, and so does a document.
  const Range of_document = document(query);
  const std::uint32_t begin = std::max(key_begin_, of_document.begin);
  const std::uint32_t past = mask_.causal != 0 ? std::min(key_end_, std::max(query + 1, mask_.prefix)) : key_end_;
  const std::uint32_t end = std::max(begin, std::min(past, of_document.end));
  const std::uint32_t from = std::min(begin - std::min(begin, first_key), kCount);
  const std::uint32_t to = std::min(end - std::min(end, first_key), kCount);
  std::fill_n(scores, from, kHidden);
  std::fill(scores + std::max(from, to), scores + kCount, kHidden);
}

}  // namespace headlight::ops
