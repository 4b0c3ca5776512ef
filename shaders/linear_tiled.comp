#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// y = x · Wᵀ + b for GPUs: a workgroup of 128 computes 8·kRows rows × 64 columns; slices of x and W, 16 wide, are
// staged in shared memory (8 KiB) and every lane accumulates kRows rows × 4 columns.
layout(local_size_x = 128) in;  // 16 vec4 columns × 8 groups of kRows rows
#include "lib/load.glsl"
VEC4_INPUT(0, x);
WEIGHT_INPUT(1, weight);
#include "lib/linear.glsl"
layout(constant_id = 1) const int kRows = 8;

const uint kTileRows = 8u * uint(kRows);
const uint kSlice4 = 4u;                           // vec4 of the inner axis per slice
shared vec4 x_slice[kTileRows * kSlice4];          // [row, i4]
shared vec4 weight_slice[kSlice4 * 4u * kTile4];   // [i, column4]

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint column4 = thread % kTile4;
  uint group = thread / kTile4;
  uint tile = gl_WorkGroupID.y;
  uint first_row = gl_WorkGroupID.x * kTileRows;

  vec4 sum[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) sum[r] = vec4(0.0);
  for (uint slice = 0u; slice < p.inner4; slice += kSlice4) {
    for (uint i = thread; i < kTileRows * kSlice4; i += 128u) {
      uint row = min(first_row + i / kSlice4, p.rows - 1u);
      uint i4 = slice + i % kSlice4;
      x_slice[i] = i4 < p.inner4 ? LOAD(x, x_row(row) + i4) : vec4(0.0);
    }
    for (uint i = thread; i < kSlice4 * 4u * kTile4; i += 128u) {
      uint inner = slice * 4u + i / kTile4;
      weight_slice[i] = inner < p.inner4 * 4u ? LOAD_WEIGHT(weight, (tile * p.inner4 * 4u + inner) * kTile4 + i % kTile4) : vec4(0.0);
    }
    barrier();
    [[unroll]] for (uint i4 = 0u; i4 < kSlice4; ++i4) {
      vec4 w[4];
      [[unroll]] for (int i = 0; i < 4; ++i) w[i] = weight_slice[(i4 * 4u + uint(i)) * kTile4 + column4];
      [[unroll]] for (int r = 0; r < kRows; ++r) {
        vec4 xs = x_slice[(group * uint(kRows) + uint(r)) * kSlice4 + i4];
        sum[r] = fma(vec4(xs.x), w[0], fma(vec4(xs.y), w[1], fma(vec4(xs.z), w[2], fma(vec4(xs.w), w[3], sum[r]))));
      }
    }
    barrier();
  }
  // A loop over a copy of the sums: the code after it is compiled once and not for each sum.
  vec4 result[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) result[r] = sum[r];
  [[dont_unroll]] for (int r = 0; r < kRows; ++r) {
    uint row = first_row + group * uint(kRows) + uint(r);
    if (row < p.rows) store(row, p.first_tile + tile, column4, result[r]);
  }
}
