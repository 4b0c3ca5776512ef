#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef MATRIX
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#endif
// y = x · Wᵀ + b with weights of float16, by units that multiply 16 × 16 matrices of float16 into sums of float32 (MATRIX:
// VK_KHR_cooperative_matrix), or with the same numbers by plain code, which tests compare with exact sums on every device.
// The weight is multiplied as it is. Each row of x is scaled by a power of two that brings its largest number to 2^14 … 2^15
// and split, x = high + low, into two float16: what is lost is at most 2^-21 of a number, or 2^-39 of the row's largest, which may
// be of any size. Products of float16 are exact in float32.
// A workgroup of four subgroups computes 64 rows × 64 columns, a subgroup 32 × 32 of them in four matrices.
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint kLanes = 128u;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
layout(set = 0, binding = 1, std430) readonly buffer weight_buffer { uvec4 weight[]; };  // 8 columns an element
#include "lib/linear.glsl"

const uint kRows = 64u;
const uint kSlice4 = 8u;                  // vec4 of the inner axis in a slice
const uint kSlice = kSlice4 * 4u;
const uint kRow8 = kSlice / 8u;           // uvec4 of eight float16 in a row of x's slice, …
const uint kColumns8 = 8u;                // … and in one of the weight's
const uint kXPitch = kRow8 + 1u;          // the gap spreads a column over the banks
const uint kWeightPitch = kColumns8 + 1u;
const uint kLowAt = kRows * kXPitch;      // where the low halves begin
const uint kWeightAt = 2u * kLowAt;
const uint kLoads = kRows * kRow8 / kLanes;       // of x and, as many, of the weight
const uint kMostLanes = 8u;               // that look for a row's largest number
shared uvec4 memory[kWeightAt + kSlice * kWeightPitch];  // 14.5 KiB
shared float row_scale[kRows];

uint thread = gl_LocalInvocationID.x;

// 2^14 divided by the largest power of two that isn't above `most`; 1 where it isn't finite.
float scale_for(float most) {
  uint exponent = max(floatBitsToUint(most) >> 23, 27u);
  return exponent >= 255u ? 1.0 : uintBitsToFloat((268u - exponent) << 23);
}

// Of a power of two whose reciprocal is no subnormal number; a division needn't be exact.
float reciprocal(float power) { return uintBitsToFloat(0x7f000000u - floatBitsToUint(power)); }

// Finds each row's scale: kMostLanes lanes a row.
void scale_rows(uint first_row) {
  const uint kAtOnce = kLanes / kMostLanes;
  [[dont_unroll]] for (uint row = thread / kMostLanes; row < kRows; row += kAtOnce) {
    uint at = x_row(min(first_row + row, p.rows - 1u));
    uint most = 0u;  // bits of |x|: their order is the numbers', and a NaN is above all
    [[dont_unroll]] for (uint i4 = thread % kMostLanes; i4 < p.inner4; i4 += kMostLanes) {
      uvec4 bits = floatBitsToUint(LOAD(x, at + i4)) & 0x7fffffffu;
      most = max(most, max(max(bits.x, bits.y), max(bits.z, bits.w)));
    }
    memory[row * kMostLanes + thread % kMostLanes].x = most;
  }
  barrier();
  if (thread < kRows) {
    uint most = 0u;
    [[dont_unroll]] for (uint i = 0u; i < kMostLanes; ++i) most = max(most, memory[thread * kMostLanes + i].x);
    row_scale[thread] = scale_for(uintBitsToFloat(most));
  }
  barrier();
}

// The nearest number that a float16 holds, subnormal ones aside: of 11 bits; of a NaN anything, since what is left is NaN. By bits,
// because for every other number llvmpipe of Mesa 25 takes n - unpackHalf2x16(packHalf2x16(n)) for 0.
vec4 high_part(vec4 numbers) {
  uvec4 bits = floatBitsToUint(numbers);
  return uintBitsToFloat((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}
uvec2 halves_of(vec4 numbers) { return uvec2(packHalf2x16(numbers.xy), packHalf2x16(numbers.zw)); }
vec4 numbers_of(uvec2 halves) { return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y)); }

vec4 x_at4(uint at, uint i4) { return i4 < p.inner4 ? LOAD(x, at + i4) : vec4(0.0); }

// What is on its way from memory while a slice is multiplied.
vec4 next_x[2u * kLoads];
uvec4 next_weight[kLoads];

void load_slice(uint first_row, uint tile, uint slice4) {
  [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
    uint index = n * kLanes + thread;
    uint i4 = slice4 + index % kRow8 * 2u, i = slice4 * 4u + index / kColumns8;
    uint at = x_row(min(first_row + index / kRow8, p.rows - 1u));
    next_x[2u * n] = x_at4(at, i4);
    next_x[2u * n + 1u] = x_at4(at, i4 + 1u);
    next_weight[n] = weight[(tile * p.inner4 * 4u + min(i, p.inner4 * 4u - 1u)) * kColumns8 + index % kColumns8];
    if (i >= p.inner4 * 4u) next_weight[n] = uvec4(0u);
  }
}

// x scaled and split.
void store_slice() {
  [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
    uint index = n * kLanes + thread, row = index / kRow8;
    uint to = row * kXPitch + index % kRow8;
    vec4 left = next_x[2u * n] * row_scale[row], right = next_x[2u * n + 1u] * row_scale[row];
    vec4 left_high = high_part(left), right_high = high_part(right);
    memory[to] = uvec4(halves_of(left_high), halves_of(right_high));
    memory[kLowAt + to] = uvec4(halves_of(left - left_high), halves_of(right - right_high));
    memory[kWeightAt + index / kColumns8 * kWeightPitch + index % kColumns8] = next_weight[n];
  }
}

void finish(uint first_row, uint row, uint tile, uint column4, vec4 sum) {
  if (first_row + row < p.rows) store(first_row + row, p.first_tile + tile, column4, sum * reciprocal(row_scale[row]));
}

#ifdef MATRIX
const uint kEdge = 16u;
const uint kResultPitch = 5u;  // uvec4 of a row of a result in shared memory, and a gap

void compute(uint first_row, uint tile) {
  coopmat<float, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseAccumulator> sum[4];
  [[unroll]] for (uint n = 0u; n < 4u; ++n) {
    sum[n] = coopmat<float, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseAccumulator>(0.0);
  }
  uint my_row = gl_SubgroupID / 2u * 32u, my_column8 = gl_SubgroupID % 2u * 4u;
  load_slice(first_row, tile, 0u);
  for (uint slice4 = 0u; slice4 < p.inner4; slice4 += kSlice4) {
    store_slice();
    barrier();
    if (slice4 + kSlice4 < p.inner4) load_slice(first_row, tile, slice4 + kSlice4);
    [[unroll]] for (uint i = 0u; i < kSlice; i += kEdge) {
      coopmat<float16_t, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseA> high[2], low[2];
      coopmat<float16_t, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseB> w[2];
      [[unroll]] for (uint n = 0u; n < 2u; ++n) {
        uint from = (my_row + n * kEdge) * kXPitch + i / 8u;
        coopMatLoad(high[n], memory, from, kXPitch, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(low[n], memory, kLowAt + from, kXPitch, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(w[n], memory, kWeightAt + i * kWeightPitch + my_column8 + n * 2u, kWeightPitch,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
      [[unroll]] for (uint n = 0u; n < 4u; ++n) sum[n] = coopMatMulAdd(low[n / 2u], w[n % 2u], sum[n]);
      [[unroll]] for (uint n = 0u; n < 4u; ++n) sum[n] = coopMatMulAdd(high[n / 2u], w[n % 2u], sum[n]);
    }
    barrier();
  }
  // One matrix of each subgroup after the other by way of shared memory: which lane holds which number is the driver's.
  const uint kWidth = kLanes / 4u;
  uint mine = gl_SubgroupID * kEdge * kResultPitch;
  [[unroll]] for (uint n = 0u; n < 4u; ++n) {
    coopMatStore(sum[n], memory, mine, kResultPitch, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    [[dont_unroll]] for (uint index = gl_SubgroupInvocationID; index < kEdge * 4u; index += kWidth) {
      vec4 result = uintBitsToFloat(memory[mine + index / 4u * kResultPitch + index % 4u]);
      finish(first_row, my_row + n / 2u * kEdge + index / 4u, tile, my_column8 * 2u + n % 2u * 4u + index % 4u, result);
    }
    barrier();
  }
}
#else
const uint kLaneRows = kRows * kTile4 / kLanes;

void compute(uint first_row, uint tile) {
  uint column4 = thread % kTile4, my_row = thread / kTile4 * kLaneRows;
  vec4 sum[kLaneRows];
  [[dont_unroll]] for (uint r = 0u; r < kLaneRows; ++r) sum[r] = vec4(0.0);
  load_slice(first_row, tile, 0u);
  [[dont_unroll]] for (uint slice4 = 0u; slice4 < p.inner4; slice4 += kSlice4) {
    store_slice();
    barrier();
    if (slice4 + kSlice4 < p.inner4) load_slice(first_row, tile, slice4 + kSlice4);
    [[dont_unroll]] for (uint i = 0u; i < kSlice; ++i) {
      uvec4 columns = memory[kWeightAt + i * kWeightPitch + column4 / 2u];
      vec4 w = numbers_of(column4 % 2u == 0u ? columns.xy : columns.zw);
      [[dont_unroll]] for (uint r = 0u; r < kLaneRows; ++r) {
        uint from = (my_row + r) * kXPitch + i / 8u;
        float high = unpackHalf2x16(memory[from][i / 2u % 4u])[i % 2u];
        float low = unpackHalf2x16(memory[kLowAt + from][i / 2u % 4u])[i % 2u];
        sum[r] = fma(vec4(high), w, fma(vec4(low), w, sum[r]));
      }
    }
    barrier();
  }
  [[dont_unroll]] for (uint r = 0u; r < kLaneRows; ++r) finish(first_row, my_row + r, tile, column4, sum[r]);
}
#endif

void main() {
  uint first_row = gl_WorkGroupID.x * kRows;
  scale_rows(first_row);
  compute(first_row, gl_WorkGroupID.y);
}
