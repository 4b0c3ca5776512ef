#pragma once

#include "ops/parameters.h"

namespace headlight::ops {

/// The keys that each query of one map sees: shaders/lib/mask.glsl for the program's functions. `words` is the mask
/// buffer.
class HostMask {
 public:
  HostMask(const MaskParameters& mask, const std::uint32_t* words, std::uint32_t item, std::uint32_t head,
           std::uint32_t heads, std::uint32_t keys);

  /// Keys [begin, end).
  struct Range {
    std::uint32_t begin = 0, end = 0;
  };
  /// All keys that any query of [first, last] sees are among these.
  Range visited(std::uint32_t first, std::uint32_t last) const;
  bool is_visible(std::uint32_t query, std::uint32_t key) const;

  /// Adds painted biases to scores [query, first_key … first_key + 64), or puts a painted pattern in their place.
  void add_paint(std::uint32_t query, std::uint32_t first_key, float* scores) const;
  bool has_paint() const { return paint_ != 0; }

  /// Does the head's pattern give every visible key the same score, 0?
  bool is_uniform() const { return pattern_ == kUniform; }

  /// Sets scores [query, first_key … first_key + 64) that the mask hides to kHidden; keys from `keys` on are hidden.
  void hide(std::uint32_t query, std::uint32_t first_key, float* scores) const;

  static constexpr float kHidden = -3.402823466e38f;

 private:
  /// Patterns that take a head's place, as in shaders/lib/mask.glsl.
  static constexpr std::uint32_t kUniform = 1, kDiagonal = 2, kPrevious = 3, kPainted = 5;
  /// Kinds of a row's paint, as in shaders/lib/paint.glsl.
  static constexpr std::uint32_t kBiasedRow = 1, kReplacedRow = 2;

  struct Plane {
    std::uint32_t first = 0, rows = 0, at = 0;

    bool has_rows(std::uint32_t from, std::uint32_t to) const { return rows != 0 && to >= first && from < first + rows; }
  };
  Plane load_plane(std::uint32_t table_at, std::uint32_t map) const;
  bool has_bit(const Plane& plane, std::uint32_t query, std::uint32_t key) const;
  bool rule_shows(std::uint32_t query, std::uint32_t key) const;
  /// The keys of the query's document.
  Range document(std::uint32_t query) const;
  std::uint32_t row_paint(std::uint32_t query) const;
  /// Null where the cell isn't painted.
  const std::uint32_t* find_paint(std::uint32_t query, std::uint32_t key) const;
  bool shows_one_key() const { return pattern_ > kUniform && pattern_ != kPainted; }
  /// The only key that the pattern leaves to the query, where it is one.
  std::uint32_t pattern_key(std::uint32_t query) const;

  MaskParameters mask_;
  const std::uint32_t* words_;
  std::uint32_t keys_, key_begin_ = 0, key_end_ = 0, pattern_ = 0;
  std::uint32_t paint_ = 0;                   ///< word of the map's plane of painted numbers; 0: none
  const std::uint32_t* documents_ = nullptr;  ///< [query] of the item, pairs; null: none
  Plane deny_, allow_;
};

}  // namespace headlight::ops
