#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
// y = x · Wᵀ + b for CPUs whose subgroups are exactly the 8 lanes of a workgroup: lane r loads row r of x and the others read it
// by shuffles, which cost a fraction of a load. A lane owns kRows rows × 1 vec4 column; a tile of 64 columns takes two
// workgroups along y.
layout(local_size_x = 8) in;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
WEIGHT_INPUT(1, weight);
#include "lib/linear.glsl"
layout(constant_id = 1) const int kRows = 16;

const uint kLanes = 8u;
// vec4 of x per iteration: at its end llvmpipe blends every sum with its old value, which storage loads outweigh, and every storage
// load in the code costs it 50 ms to compile.
#ifdef TEXEL
const uint kSteps = 4u;
#else
const uint kSteps = 2u;
#endif

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint tile = gl_WorkGroupID.y / 2u;
  uint column4 = gl_WorkGroupID.y % 2u * kLanes + lane;
  uint first_row = gl_WorkGroupID.x * uint(kRows);
  const int kLoads = kRows / 8;  // of a lane
  uint row_at[kLoads];
  [[unroll]] for (int b = 0; b < kLoads; ++b) row_at[b] = x_row(min(first_row + uint(b) * kLanes + lane, p.rows - 1u));

  vec4 sum[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) sum[r] = vec4(0.0);
  uint weight_at = tile * p.inner4 * 4u * kTile4 + column4;
  for (uint begin4 = 0u; begin4 < p.inner4; begin4 += kSteps) {
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      uint i4 = min(begin4 + step, p.inner4 - 1u);
      float counts = begin4 + step < p.inner4 ? 1.0 : 0.0;
      vec4 mine[kLoads];
      [[unroll]] for (int b = 0; b < kLoads; ++b) mine[b] = LOAD(x, row_at[b] + i4) * counts;
      [[unroll]] for (int i = 0; i < 4; ++i) {
        vec4 w = LOAD_WEIGHT(weight, weight_at + (i4 * 4u + uint(i)) * kTile4);
        [[unroll]] for (int r = 0; r < kRows; ++r) {
          sum[r] = fma(vec4(subgroupShuffle(mine[r / 8][i], uint(r % 8))), w, sum[r]);
        }
      }
    }
  }
  // A loop over a copy of the sums: the code after it is compiled once and not for each sum.
  vec4 result[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) result[r] = sum[r];
  [[dont_unroll]] for (int r = 0; r < kRows; ++r) {
    uint row = first_row + uint(r);
    if (row >= p.rows) break;
    store(row, p.first_tile + tile, column4, result[r]);
  }
}
