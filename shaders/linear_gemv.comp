#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// y = x · Wᵀ + b for a few rows on GPUs, where reading the weight is all the time: a workgroup of 256 computes kRows rows × 16
// columns, each column's sum in 64 parts that are added in shared memory. Every number of the weight is read once, eight loads
// of a lane before the first is needed; a workgroup's loads of one moment cover rows of 64 bytes one after another.
layout(local_size_x = 256) in;
layout(constant_id = 1) const uint kRows = 1u;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
WEIGHT_INPUT(1, weight);
#include "lib/linear.glsl"

const uint kColumns4 = 4u;
const uint kParts = 256u / kColumns4;
const uint kSteps = 2u;                            // vec4 of x in flight
const uint kBatch = kRows > 4u ? 4u : kRows;       // rows that are added together
const uint kFold = 8u;                             // parts that one lane adds
shared vec4 part_sum[kParts * kBatch * kColumns4]; // [part, row, column4]

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint part = thread / kColumns4;
  Block block;
  if (!find_block(kRows, gl_WorkGroupID.y / 4u, block)) return;
  uint first_column4 = gl_WorkGroupID.y % 4u * kColumns4;
  uint x_at[kRows];
  vec4 sum[kRows];
  [[unroll]] for (uint r = 0u; r < kRows; ++r) {
    x_at[r] = x_row(min(block.first_row + r, block.end_row - 1u));
    sum[r] = vec4(0.0);
  }
  uint w_at = block.tile * p.inner4 * 4u * kTile4 + first_column4 + thread % kColumns4;
  for (uint begin4 = part; begin4 < p.inner4; begin4 += kParts * kSteps) {
    vec4 ws[kSteps * 4u], xs[kSteps * kRows];
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      uint i4 = min(begin4 + step * kParts, p.inner4 - 1u);
      [[unroll]] for (uint c = 0u; c < 4u; ++c) ws[step * 4u + c] = LOAD_WEIGHT(weight, w_at + (i4 * 4u + c) * kTile4);
    }
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      uint i4 = min(begin4 + step * kParts, p.inner4 - 1u);
      [[unroll]] for (uint r = 0u; r < kRows; ++r) xs[step * kRows + r] = LOAD(x, x_at[r] + i4);
    }
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      if (begin4 + step * kParts < p.inner4) {
        [[unroll]] for (uint r = 0u; r < kRows; ++r) {
          [[unroll]] for (uint c = 0u; c < 4u; ++c) {
            sum[r] = fma(vec4(xs[step * kRows + r][c]), ws[step * 4u + c], sum[r]);
          }
        }
      }
    }
  }
  const uint kResults = kBatch * kColumns4;
  vec4 value = vec4(0.0);  // of row thread / kColumns4
  [[unroll]] for (uint begin = 0u; begin < kRows; begin += kBatch) {
    if (begin > 0u) barrier();
    [[unroll]] for (uint r = 0u; r < kBatch; ++r) {
      part_sum[(part * kBatch + r) * kColumns4 + thread % kColumns4] = sum[begin + r];
    }
    barrier();
    vec4 folded = vec4(0.0);
    if (thread < kParts / kFold * kResults) {
      uint at = thread / kResults * kFold * kResults + thread % kResults;
      [[unroll]] for (uint n = 0u; n < kFold; ++n) folded += part_sum[at + n * kResults];
    }
    barrier();
    if (thread < kParts / kFold * kResults) part_sum[thread] = folded;
    barrier();
    uint result = thread - begin * kColumns4;
    if (result < kResults) {
      [[unroll]] for (uint n = 0u; n < kParts / kFold; ++n) value += part_sum[n * kResults + result];
    }
  }
  uint row = block.first_row + thread / kColumns4;
  if (thread < kRows * kColumns4 && row < block.end_row) {
    store(row, p.first_tile + block.tile, first_column4 + thread % kColumns4, value);
  }
}
