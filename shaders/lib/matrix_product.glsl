// y = x · Wᵀ + b with weights of 16 bits, by units that multiply 16 × 16 matrices of float16 into sums of float32 (MATRIX:
// VK_KHR_cooperative_matrix), or with the same numbers by plain code, which tests compare with exact sums on every device.
// A float16 weight is multiplied as it is. All bfloat16 of a weight are scaled by a power of two that brings the largest to 2^14 …
// 2^15: float16 holds their 8 bits, those below 2^-31 of the largest aside, of which at most 2^-39 of the largest is lost. Each row of
// x is scaled likewise (linear_row_scales.comp) and split, x = high + low, into two float16: what is lost is at most 2^-21 of a number, or
// 2^-39 of the row's largest, which may be of any size. Products of float16 are exact in float32.
// A workgroup computes ROWS × ROWS results: of 64 four subgroups 32 × 32 each, of 128 eight subgroups 64 × 32 each, in matrices of
// 16 × 16.
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint kLanes = 128u;
#include "lib/load.glsl"
VEC4_INPUT(0, x);
layout(set = 0, binding = 1, std430) readonly buffer weight_buffer { uvec4 weight[]; };  // 8 columns an element
#include "lib/linear.glsl"
layout(set = 0, binding = 6, std430) readonly buffer scale_buffer { float scales[]; };  // of rows

const uint kRows = ROWS;
const uint kBands = ROWS / 64u;           // tiles of the weight
const uint kSlice4 = 8u;                  // vec4 of the inner axis in a slice
const uint kSlice = kSlice4 * 4u;
const uint kRow8 = kSlice / 8u;           // uvec4 of eight float16 in a row of x's slice, …
const uint kColumns8 = 8u * kBands;       // … and in one of the weight's
const uint kXPitch = kRow8 + 1u;          // the gap spreads a column over the banks
const uint kWeightPitch = kColumns8 + 1u;
const uint kLowAt = kRows * kXPitch;      // where the low halves begin
const uint kWeightAt = 2u * kLowAt;
const uint kXLoads = kRows * kRow8 / kLanes;
const uint kWeightLoads = kSlice * kColumns8 / kLanes;
shared uvec4 memory[kWeightAt + kSlice * kWeightPitch];  // 14.5 KiB, 28.5 of 128 rows
shared float row_scale[kRows];

uint thread = gl_LocalInvocationID.x;

// Returns 1 / power for a power of two whose reciprocal is no subnormal number; a division needn't be exact.
float reciprocal(float power) { return uintBitsToFloat(0x7f000000u - floatBitsToUint(power)); }

// Returns the nearest number that a float16 holds, subnormal ones aside: of 11 bits; of a NaN anything, since what is
// left is NaN. It works on bits, because for every other number llvmpipe of Mesa 25 takes
// n - unpackHalf2x16(packHalf2x16(n)) for 0.
vec4 high_part(vec4 numbers) {
  uvec4 bits = floatBitsToUint(numbers);
  return uintBitsToFloat((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
}
uvec2 halves_of(vec4 numbers) { return uvec2(packHalf2x16(numbers.xy), packHalf2x16(numbers.zw)); }

vec4 x_at4(uint at, uint i4) { return i4 < p.inner4 ? LOAD(x, at + i4) : vec4(0.0); }

// Eight columns of the weight as float16.
uvec4 weight_halves(uvec4 words) {
#ifdef BFLOAT
  uvec4 low = words << 16, high = words & 0xffff0000u;
  [[unroll]] for (uint n = 0u; n < 4u; ++n) words[n] = packHalf2x16(uintBitsToFloat(uvec2(low[n], high[n])) * p.weight_scale);
#endif
  return words;
}

// The numbers that are on their way from memory while a slice is multiplied.
vec4 next_x[2u * kXLoads];
uvec4 next_weight[kWeightLoads];

void load_slice(uint first_row, uint tile, uint slice4) {
  [[unroll]] for (uint n = 0u; n < kXLoads; ++n) {
    uint index = n * kLanes + thread, i4 = slice4 + index % kRow8 * 2u;
    uint at = x_row(min(first_row + index / kRow8, p.rows - 1u));
    next_x[2u * n] = x_at4(at, i4);
    next_x[2u * n + 1u] = x_at4(at, i4 + 1u);
  }
  [[unroll]] for (uint n = 0u; n < kWeightLoads; ++n) {
    uint index = n * kLanes + thread, i = slice4 * 4u + index / kColumns8;
    uint from = min(tile + index % kColumns8 / 8u, p.tiles - 1u);  // beyond the last tile it is repeated
    next_weight[n] = weight[(from * p.inner4 * 4u + min(i, p.inner4 * 4u - 1u)) * 8u + index % 8u];
    if (i >= p.inner4 * 4u) next_weight[n] = uvec4(0u);
  }
}

// x scaled and split.
void store_slice() {
  [[unroll]] for (uint n = 0u; n < kXLoads; ++n) {
    uint index = n * kLanes + thread, row = index / kRow8;
    uint to = row * kXPitch + index % kRow8;
    vec4 left = next_x[2u * n] * row_scale[row], right = next_x[2u * n + 1u] * row_scale[row];
    vec4 left_high = high_part(left), right_high = high_part(right);
    memory[to] = uvec4(halves_of(left_high), halves_of(right_high));
    memory[kLowAt + to] = uvec4(halves_of(left - left_high), halves_of(right - right_high));
  }
  [[unroll]] for (uint n = 0u; n < kWeightLoads; ++n) {
    uint index = n * kLanes + thread;
    memory[kWeightAt + index / kColumns8 * kWeightPitch + index % kColumns8] = weight_halves(next_weight[n]);
  }
}

// `column4` counts from the first column of tile `tile`.
void finish(uint first_row, uint row, uint tile, uint column4, vec4 sum) {
  uint at = tile + column4 / kTile4;
  if (first_row + row >= p.rows || at >= p.tiles) return;
#ifdef BFLOAT
  sum *= reciprocal(p.weight_scale);
#endif
  store(first_row + row, p.first_tile + at, column4 % kTile4, sum * reciprocal(row_scale[row]));
}

#ifdef MATRIX
const uint kEdge = 16u;
const uint kAcross = kRows / 32u;             // subgroups side by side, each with 32 columns and half of the rows
const uint kMatrices = kRows / 2u / kEdge;    // of a subgroup's rows
const uint kResultPitch = 5u;                 // uvec4 of a row of a result in shared memory, and a gap

void compute(uint first_row, uint tile) {
  coopmat<float, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseAccumulator> sum[2u * kMatrices];
  [[unroll]] for (uint n = 0u; n < 2u * kMatrices; ++n) {
    sum[n] = coopmat<float, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseAccumulator>(0.0);
  }
  uint my_row = gl_SubgroupID / kAcross * (kRows / 2u), my_column8 = gl_SubgroupID % kAcross * 4u;
  load_slice(first_row, tile, 0u);
  for (uint slice4 = 0u; slice4 < p.inner4; slice4 += kSlice4) {
    store_slice();
    barrier();
    if (slice4 + kSlice4 < p.inner4) load_slice(first_row, tile, slice4 + kSlice4);
    [[unroll]] for (uint i = 0u; i < kSlice; i += kEdge) {
      coopmat<float16_t, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseB> w[2];
      [[unroll]] for (uint c = 0u; c < 2u; ++c) {
        coopMatLoad(w[c], memory, kWeightAt + i * kWeightPitch + my_column8 + c * 2u, kWeightPitch,
                    gl_CooperativeMatrixLayoutRowMajor);
      }
      [[unroll]] for (uint r = 0u; r < kMatrices; ++r) {
        coopmat<float16_t, gl_ScopeSubgroup, kEdge, kEdge, gl_MatrixUseA> high, low;
        uint from = (my_row + r * kEdge) * kXPitch + i / 8u;
        coopMatLoad(high, memory, from, kXPitch, gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(low, memory, kLowAt + from, kXPitch, gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint c = 0u; c < 2u; ++c) sum[r * 2u + c] = coopMatMulAdd(low, w[c], sum[r * 2u + c]);
        [[unroll]] for (uint c = 0u; c < 2u; ++c) sum[r * 2u + c] = coopMatMulAdd(high, w[c], sum[r * 2u + c]);
      }
    }
    barrier();
  }
  // One matrix of each subgroup after the other by way of shared memory: which lane holds which number is the driver's.
  const uint kWidth = kLanes / (2u * kAcross);
  uint mine = gl_SubgroupID * kEdge * kResultPitch;
  [[unroll]] for (uint n = 0u; n < 2u * kMatrices; ++n) {
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
const uint kAcross4 = kTile4 * kBands;
const uint kLaneRows = kRows * kAcross4 / kLanes;

vec4 numbers_of(uvec2 halves) { return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y)); }

void compute(uint first_row, uint tile) {
  uint column4 = thread % kAcross4, my_row = thread / kAcross4 * kLaneRows;
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
  if (thread < kRows) row_scale[thread] = scales[min(first_row + thread, p.rows - 1u)];
  barrier();
  compute(first_row, gl_WorkGroupID.y * kBands);
}
