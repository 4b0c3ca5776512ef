#pragma once

#include "gpu/stream.h"
#include "ops/attention.h"
#include "ops/device_tensor.h"
#include "ops/kernels.h"

namespace headlight::ops {

/// A rectangle of a matrix, and the squares or rectangles that it is pooled by.
struct Region {
  std::uint32_t row = 0, rows = 0, column = 0, columns = 0, pool = 1;
  std::uint32_t sampled_rows = 0;    ///< of each square, its first; 0: all. See map_cells()
  std::uint32_t pooled_columns = 0;  ///< of a rectangle, which has `pool` rows; 0: it is a square

  std::uint32_t column_pool() const { return pooled_columns > 0 ? pooled_columns : pool; }
  std::uint32_t tile_rows() const { return divide_up(rows, pool); }
  std::uint32_t tile_columns() const { return divide_up(columns, column_pool()); }
  std::size_t tile_values() const { return std::size_t{tile_rows()} * tile_columns(); }
};

/// The map over (query, key) that attention_cells_*.comp evaluate. MeanWeights: weights pooled by the mean instead of the
/// maximum, of pooled regions only.
enum class MapStage : std::uint32_t { Scores, ContentPosition, PositionContent, Scaled, Masked, Weights, MeanWeights };

/// Bytes of one value of a tile: (value, 1 where all its cells are masked).
inline constexpr std::size_t kCellBytes = 8;

/// Consecutive heads of one batch item.
struct HeadRun {
  std::uint32_t item = 0, first_head = 0, heads = 1;
};

/// Evaluates a region of the maps of some heads, tile after tile into `out` from pair `out_at` on, from an attention's
/// inputs and the softmax statistics that it wrote. Of sampled rows the pairs are (largest weight, cells shown): only for
/// weights pooled by the maximum, in squares of at least 32 rows.
void map_cells(gpu::Stream& stream, Kernels& kernels, MapStage stage, const AttentionInputs& inputs,
               const DeviceTensor& stats, const HeadRun& heads, const Region& region, const gpu::Buffer& out,
               std::uint32_t out_at);

/// Requests the kernel with which map_cells() evaluates unpooled maps, so that it is compiled together with others.
void ask_for_map_cells(Kernels& kernels);

/// A matrix inside one item of a stored tensor, in floats from the item's begin.
struct StoredMatrix {
  std::uint32_t base = 0;
  std::uint32_t row_stride = 0;
  std::uint32_t slot_width = 0;   ///< adjacent columns …
  std::uint32_t slot_stride = 0;  ///< … and the distance to the next group of them
};

/// Copies a region of a stored matrix into `out` from pair `out_at` on.
void matrix_cells(gpu::Stream& stream, Kernels& kernels, const DeviceTensor& tensor, std::uint32_t item,
                  const StoredMatrix& matrix, const Region& region, const gpu::Buffer& out, std::uint32_t out_at);

}  // namespace headlight::ops
