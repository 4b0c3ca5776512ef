#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// y = x · Wᵀ + b for GPUs, in tiles staged through shared memory. The number of lanes decides how large a workgroup's tile is:
//   64: 16 rows × 64 columns, 4 × 4 results a lane      256: 128 rows × 128 columns, 8 × 8 results a lane
//  128: 64 rows × 64 columns, 8 × 4 results a lane
// While a slice of x and W is multiplied, the next one is on its way from memory to registers. x is staged by columns, so
// that one load gives four rows. With p.split4 below p.inner4 the workgroups along z compute sums of a part of the inner axis
// each, which linear_sum.comp adds.
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint kLanes = 128u;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
WEIGHT_INPUT(1, weight);
#include "lib/linear.glsl"

const uint kBands = kLanes >= 256u ? 2u : 1u;   // of 64 columns
const uint kLaneRows = kLanes >= 128u ? 8u : 4u;
const uint kGroups = kLanes / kTile4;           // of lanes with the same rows
const uint kTileRows = kGroups * kLaneRows;
const uint kSlice4 = 4u;                        // vec4 of the inner axis in a slice
const uint kSlice = kSlice4 * 4u;
const uint kXPitch = kTileRows + 4u;            // the gap spreads what is stored together over the banks
const uint kXLoads = kTileRows * kSlice4 / kLanes;
const uint kWeightLoads = kSlice / kGroups;     // of each band
shared float x_slice[kSlice * kXPitch];                // [i, row]
shared vec4 weight_slice[kSlice * kBands * kTile4];    // [i, band, column4]

uint thread = gl_LocalInvocationID.x;
uint my4 = thread % kSlice4;  // of x's slice this lane stages vec4 my4 of rows kLanes / kSlice4 apart …
uint x_at[kXLoads];
uint w_at[kBands];            // … and of the weight's one vec4 of rows kGroups apart
vec4 next_x[kXLoads];
vec4 next_w[kWeightLoads * kBands];

// All loads together; beyond the last column of x they repeat it.
void load_slice(uint slice4) {
  uint i4 = min(slice4 + my4, p.inner4 - 1u);
  [[unroll]] for (uint n = 0u; n < kXLoads; ++n) next_x[n] = LOAD(x, x_at[n] + i4);
  [[unroll]] for (uint n = 0u; n < kWeightLoads; ++n) {
    uint i = min(slice4 * 4u + n * kGroups + thread / kTile4, p.inner4 * 4u - 1u);
    [[unroll]] for (uint b = 0u; b < kBands; ++b) next_w[n * kBands + b] = LOAD_WEIGHT(weight, w_at[b] + i * kTile4);
  }
}

void store_slice(uint slice4) {
  if (slice4 + kSlice4 > p.inner4) {  // the last one: what repeats doesn't count
    [[unroll]] for (uint n = 0u; n < kXLoads; ++n) next_x[n] = slice4 + my4 < p.inner4 ? next_x[n] : vec4(0.0);
    [[unroll]] for (uint n = 0u; n < kWeightLoads; ++n) {
      bool counts = slice4 * 4u + n * kGroups + thread / kTile4 < p.inner4 * 4u;
      [[unroll]] for (uint b = 0u; b < kBands; ++b) next_w[n * kBands + b] = counts ? next_w[n * kBands + b] : vec4(0.0);
    }
  }
  uint x_to = my4 * 4u * kXPitch + thread / kSlice4;
  [[unroll]] for (uint n = 0u; n < kXLoads; ++n) {
    [[unroll]] for (uint c = 0u; c < 4u; ++c) x_slice[x_to + c * kXPitch + n * (kLanes / kSlice4)] = next_x[n][c];
  }
  uint w_to = thread / kTile4 * kBands * kTile4 + thread % kTile4;
  [[unroll]] for (uint n = 0u; n < kWeightLoads * kBands; ++n) {
    weight_slice[w_to + (n / kBands * kGroups * kBands + n % kBands) * kTile4] = next_w[n];
  }
}

void main() {
  uint column4 = thread % kTile4;
  Block block;
  if (!find_block(kTileRows, gl_WorkGroupID.y * kBands, block)) return;
  uint my_row = thread / kTile4 * kLaneRows;  // of the tile
  [[unroll]] for (uint n = 0u; n < kXLoads; ++n) {
    x_at[n] = x_row(min(block.first_row + thread / kSlice4 + n * (kLanes / kSlice4), block.end_row - 1u));
  }
  [[unroll]] for (uint b = 0u; b < kBands; ++b) w_at[b] = min(block.tile + b, p.tiles - 1u) * p.inner4 * 4u * kTile4 + column4;

  vec4 sum[kLaneRows * kBands];
  [[unroll]] for (uint n = 0u; n < kLaneRows * kBands; ++n) sum[n] = vec4(0.0);
  uint begin4 = gl_WorkGroupID.z * p.split4, end4 = min(begin4 + p.split4, p.inner4);
  load_slice(begin4);
  for (uint slice4 = begin4; slice4 < end4; slice4 += kSlice4) {
    store_slice(slice4);
    barrier();
    if (slice4 + kSlice4 < end4) load_slice(slice4 + kSlice4);
    [[unroll]] for (uint i = 0u; i < kSlice; ++i) {
      float xs[kLaneRows];
      vec4 ws[kBands];
      [[unroll]] for (uint r = 0u; r < kLaneRows; ++r) xs[r] = x_slice[i * kXPitch + my_row + r];
      [[unroll]] for (uint b = 0u; b < kBands; ++b) ws[b] = weight_slice[(i * kBands + b) * kTile4 + column4];
      [[unroll]] for (uint n = 0u; n < kLaneRows * kBands; ++n) sum[n] = fma(vec4(xs[n / kBands]), ws[n % kBands], sum[n]);
    }
    barrier();
  }
  // A loop over a copy of the sums: the code after it is compiled once and not for each sum.
  vec4 result[kLaneRows * kBands];
  [[unroll]] for (uint n = 0u; n < kLaneRows * kBands; ++n) result[n] = sum[n];
  [[dont_unroll]] for (uint n = 0u; n < kLaneRows * kBands; ++n) {
    uint row = block.first_row + my_row + n / kBands;
    uint at = block.tile + n % kBands;
    if (row >= block.end_row || at >= p.tiles) continue;
    if (p.split4 < p.inner4) {
      q[((gl_WorkGroupID.z * p.rows + row) * p.tiles + at) * kTile4 + column4] = result[n];
    } else {
      store(row, p.first_tile + at, column4, result[n]);
    }
  }
}
