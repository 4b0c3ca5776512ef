#version 450
#extension GL_GOOGLE_include_directive : require
// A rectangle of a matrix that the pass stored on the device (x, q, k, v, heads, merged, output), pooled by the mean.
//   cells [tile row, tile column] (value, 0)
layout(local_size_x = 64) in;
#include "params/matrix_region.h"

layout(push_constant) uniform Push { MatrixRegionParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer matrix_buffer { float matrix[]; };
layout(set = 0, binding = 1, std430) writeonly buffer cells_buffer { vec2 cells[]; };

void main() {
  uint tile_columns = (p.columns + p.column_pool - 1u) / p.column_pool;
  uint tile_column = gl_GlobalInvocationID.x;
  uint tile_row = gl_WorkGroupID.y;
  if (tile_column >= tile_columns) return;
  float sum = 0.0;
  float count = 0.0;
  for (uint dy = 0u; dy < p.pool && tile_row * p.pool + dy < p.rows; ++dy) {
    uint row = p.row + tile_row * p.pool + dy;
    for (uint dx = 0u; dx < p.column_pool && tile_column * p.column_pool + dx < p.columns; ++dx) {
      uint column = p.column + tile_column * p.column_pool + dx;
      sum += matrix[p.base + row * p.row_stride + column / p.slot_width * p.slot_stride + column % p.slot_width];
      count += 1.0;
    }
  }
  cells[p.out_at + tile_row * tile_columns + tile_column] = vec2(sum / count, 0.0);
}
