#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

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

/// A 64-bit hash of plain numbers (FNV-1a, eight bytes at a time): equal frames have equal hashes, and different ones equal
/// hashes with a probability of about 2⁻⁶⁴.
class FrameHash {
 public:
  void add_bytes(const void* data, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; size >= sizeof(std::uint64_t); size -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof(word));
      mix(word);
    }
    std::uint64_t rest = size;
    std::memcpy(&rest, at, size);
    mix(rest);
  }

  /// Adds a value of a type without padding between its members.
  template <typename Value>
  void add(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    add_bytes(&value, sizeof(value));
  }

  std::uint64_t value() const { return value_; }

 private:
  void mix(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x0000'0100'0000'01B3U;
    value_ ^= value_ >> 29;
  }

  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

}  // namespace headlight::shell
