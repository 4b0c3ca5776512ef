#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// y = x · Wᵀ + b for devices where loads cost more than arithmetic (CPUs): 8 lanes share one tile of 64 columns, a lane owns
// kRows rows × 2 vec4 columns in registers and loads every operand four floats at a time.
layout(local_size_x = 8) in;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
WEIGHT_INPUT(1, weight);
#include "lib/linear.glsl"
layout(constant_id = 1) const int kRows = 8;

void main() {
  uint lane = gl_LocalInvocationID.x;
  Block block;
  if (!find_block(uint(kRows), gl_WorkGroupID.y, block)) return;
  uint rows_at[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) rows_at[r] = x_row(min(block.first_row + uint(r), block.end_row - 1u));

  vec4 left[kRows], right[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) { left[r] = vec4(0.0); right[r] = vec4(0.0); }
  uint weight_at = block.tile * p.inner4 * 4u * kTile4 + lane;
  for (uint i4 = 0u; i4 < p.inner4; ++i4) {
    vec4 xs[kRows];
    [[unroll]] for (int r = 0; r < kRows; ++r) xs[r] = LOAD(x, rows_at[r] + i4);
    [[unroll]] for (int i = 0; i < 4; ++i) {
      vec4 w_left = LOAD_WEIGHT(weight, weight_at);
      vec4 w_right = LOAD_WEIGHT(weight, weight_at + 8u);
      weight_at += kTile4;
      [[unroll]] for (int r = 0; r < kRows; ++r) {
        left[r] = fma(vec4(xs[r][i]), w_left, left[r]);
        right[r] = fma(vec4(xs[r][i]), w_right, right[r]);
      }
    }
  }
  // A loop over a copy of the sums: the code after it is compiled once and not for each sum.
  vec4 result[2 * kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) { result[2 * r] = left[r]; result[2 * r + 1] = right[r]; }
  [[dont_unroll]] for (uint n = 0u; n < 2u * uint(kRows); ++n) {
    uint row = block.first_row + n / 2u;
    if (row >= block.end_row) break;
    store(row, p.first_tile + block.tile, lane + n % 2u * 8u, result[n]);
  }
}
