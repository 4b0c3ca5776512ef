#pragma once

#include "app/shell/pixels.h"

namespace headlight::shell {

/// Pixels [left, right) × [top, bottom) of an image.
struct PixelRect {
  std::int32_t left = 0, top = 0, right = 0, bottom = 0;

  bool is_empty() const { return left >= right || top >= bottom; }
  bool contains(const PixelRect& other) const {
    return left <= other.left && top <= other.top && right >= other.right && bottom >= other.bottom;
  }
  bool operator==(const PixelRect&) const = default;
};

/// Returns the pixels that both have; may be empty.
PixelRect intersection(const PixelRect& a, const PixelRect& b);

/// A hash of what a frame draws in each tile of its image: in two frames with equal hashes, a tile has the same pixels (with
/// the probability of error of a 64-bit hash, about 2⁻⁶⁴).
class FrameTiles {
 public:
  /// The side of a tile in pixels; drivers that draw with a processor divide an image into tiles of this size.
  static constexpr std::int32_t kEdge = 64;
  /// The most rectangles that are redrawn.
  static constexpr std::size_t kMaxRects = 12;

  FrameTiles() = default;
  /// Begins with nothing drawn; `content` stands for what the whole image depends on.
  FrameTiles(glm::uvec2 size, std::uint64_t content);

  glm::uvec2 size() const { return size_; }
  /// Adds something with a hash that is drawn into these pixels, after all others.
  void add(const PixelRect& pixels, std::uint64_t content);

  /// Returns rectangles without common pixels that contain every tile in which this frame differs from `before`, which has
  /// the same size; all of the image where the sizes differ. Empty: the frames are equal.
  std::vector<PixelRect> changed_since(const FrameTiles& before) const;

 private:
  std::int32_t columns() const;
  std::int32_t rows() const;
  PixelRect whole() const;
  std::vector<PixelRect> merged(const std::vector<bool>& changed, std::int32_t most_between) const;

  glm::uvec2 size_{0};
  std::vector<std::uint64_t> hashes_;  ///< [rows, columns]
};

}  // namespace headlight::shell
