#include "app/shell/frame_tiles.h"

#include <algorithm>

namespace headlight::shell {
namespace {

std::int32_t tiles_in(std::uint32_t pixels) {
  return (static_cast<std::int32_t>(pixels) + FrameTiles::kEdge - 1) / FrameTiles::kEdge;
}

/// Mixes the hash of some content into another one; the order of what is drawn counts.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t content) {
  hash = (hash ^ content) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 32;
}

}  // namespace

PixelRect intersection(const PixelRect& a, const PixelRect& b) {
  return {.left = std::max(a.left, b.left),
          .top = std::max(a.top, b.top),
          .right = std::min(a.right, b.right),
          .bottom = std::min(a.bottom, b.bottom)};
}

FrameTiles::FrameTiles(glm::uvec2 size, std::uint64_t content)
    : size_(size),
      hashes_(static_cast<std::size_t>(tiles_in(size.x)) * static_cast<std::size_t>(tiles_in(size.y)), content) {}

std::int32_t FrameTiles::columns() const { return tiles_in(size_.x); }
std::int32_t FrameTiles::rows() const { return tiles_in(size_.y); }

PixelRect FrameTiles::whole() const {
  return {.right = static_cast<std::int32_t>(size_.x), .bottom = static_cast<std::int32_t>(size_.y)};
}

void FrameTiles::add(const PixelRect& pixels, std::uint64_t content) {
  const PixelRect inside = intersection(pixels, whole());
  if (inside.is_empty()) return;
  for (std::int32_t row = inside.top / kEdge; row <= (inside.bottom - 1) / kEdge; ++row) {
    for (std::int32_t column = inside.left / kEdge; column <= (inside.right - 1) / kEdge; ++column) {
      std::uint64_t& hash =
          hashes_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns()) + static_cast<std::size_t>(column)];
      hash = mixed(hash, content);
    }
  }
}

std::vector<PixelRect> FrameTiles::changed_since(const FrameTiles& before) const {
  if (size_ != before.size_) return {whole()};
  std::vector<bool> changed(hashes_.size());
  for (std::size_t i = 0; i < hashes_.size(); ++i) changed[i] = hashes_[i] != before.hashes_[i];
  for (std::int32_t most_between = 0; most_between < columns(); most_between = 2 * most_between + 1) {
    std::vector<PixelRect> rects = merged(changed, most_between);
    if (rects.size() <= kMaxRects) return rects;
  }
  return {whole()};
}

/// Returns one rectangle for each run of changed tiles in a row, unchanged ones between them included up to a number, and
/// one for equal runs in rows that follow each other.
std::vector<PixelRect> FrameTiles::merged(const std::vector<bool>& changed, std::int32_t most_between) const {
  std::vector<PixelRect> rects;
  const auto is_changed = [&](std::int32_t row, std::int32_t column) {
    return changed[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns()) + static_cast<std::size_t>(column)];
  };
  const auto add_run = [&](std::int32_t row, std::int32_t first, std::int32_t end) {
    const PixelRect run = intersection(
        {.left = first * kEdge, .top = row * kEdge, .right = end * kEdge, .bottom = (row + 1) * kEdge}, whole());
    const auto above = std::ranges::find_if(rects, [&](const PixelRect& rect) {
      return rect.left == run.left && rect.right == run.right && rect.bottom == run.top;
    });
    if (above != rects.end()) {
      above->bottom = run.bottom;
    } else {
      rects.push_back(run);
    }
  };
  for (std::int32_t row = 0; row < rows(); ++row) {
    std::int32_t first = -1;
    std::int32_t end = -1;
    for (std::int32_t column = 0; column < columns(); ++column) {
      if (!is_changed(row, column)) continue;
      if (first >= 0 && column - end > most_between) {
        add_run(row, first, end);
        first = -1;
      }
      if (first < 0) first = column;
      end = column + 1;
    }
    if (first >= 0) add_run(row, first, end);
  }
  return rects;
}

}  // namespace headlight::shell
