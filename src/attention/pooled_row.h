#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attention/stage.h"

namespace headlight::attention {

/// One row of pooled values while the exact rows of its squares are added.
class PooledRow {
 public:
  PooledRow(const TileRequest& request, bool takes_largest)
      : pool_(request.column_pool()),
        is_pooled_(request.pool > 1 || request.column_pool() > 1),
        takes_largest_(takes_largest),
        values_(request.tile_columns(), takes_largest ? -std::numeric_limits<double>::infinity() : 0.0),
        counts_(request.tile_columns(), 0) {}

  /// Adds the cells [first, end) of an exact row.
  void add(std::span<const float> line, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t begin = first; begin < end;) {
      const std::uint32_t at = begin / pool_, next = std::min((at + 1) * pool_, end);
      add_to(at, line.subspan(begin, next - begin));
      begin = next;
    }
  }
  bool is_empty(std::size_t at) const { return counts_[at] == 0; }
  float value(std::size_t at) const {
    const bool is_mean = is_pooled_ && !takes_largest_;
    return static_cast<float>(is_mean ? values_[at] / static_cast<double>(counts_[at]) : values_[at]);
  }

 private:
  void add_to(std::size_t at, std::span<const float> cells) {
    counts_[at] += cells.size();
    if (!is_pooled_) {
      values_[at] = double{cells.front()};
    } else if (!takes_largest_) {
      for (const float cell : cells) values_[at] += double{cell};
    } else {
      bool is_odd = std::isnan(values_[at]);
      float largest = -std::numeric_limits<float>::infinity();
      for (const float cell : cells) {
        is_odd |= !(std::abs(cell) <= std::numeric_limits<float>::max());
        largest = std::max(largest, cell);
      }
      // A number among them must not hide one that isn't finite.
      values_[at] = is_odd ? std::numeric_limits<double>::quiet_NaN() : std::max(values_[at], double{largest});
    }
  }

  std::uint32_t pool_;  ///< columns of a square
  bool is_pooled_;
  bool takes_largest_;
  std::vector<double> values_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace headlight::attention
