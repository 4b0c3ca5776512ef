#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Attention for GPUs in one pass over the keys with the online softmax (Milakov & Gimelshein 2018; FlashAttention, Dao et al.
// 2022, algorithm 1): a workgroup of 128 owns 32 query rows, four lanes per row. Slices of Q and K are staged in shared memory,
// 8 scores per lane; the weights of 32 × 32 cells go through shared memory to the values, 4 vec4 columns per lane.
// 13 KiB of shared memory, no subgroup operations. Values wider than 64 take several workgroups along z.
layout(local_size_x = 128) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
#include "lib/attention_io.glsl"

const uint kRows = 32u;
const uint kKeys = 32u;
const uint kLanes = 4u;                   // of a row
const uint kSlice4 = 4u;                  // vec4 of d_k per slice
const uint kColumns4 = 16u;               // vec4 columns of the values per workgroup
const uint kValueKeys = 16u;              // keys whose values are staged at a time
shared vec4 q_slice[kRows * kSlice4];
shared vec4 k_slice[kKeys * kSlice4];
shared float weight[kRows * kKeys];
shared vec4 value[kValueKeys * kColumns4];
shared float part[kRows * kLanes];

void main() {
  uint thread = gl_LocalInvocationID.x;
  uint row = thread / kLanes;
  uint lane = thread % kLanes;
  uint first = p.block_row + gl_WorkGroupID.x * kRows;
  uint last = min(first + kRows, p.queries) - 1u;
  uint i = first + row;
  uint item = gl_WorkGroupID.y / p.heads;
  uint head = gl_WorkGroupID.y % p.heads;
  uint first_column4 = gl_WorkGroupID.z * kColumns4;

  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  uint queries_at = q_at(item, head, 0u), keys_at = k_at(item, head, 0u), values_at = v_at(item, head, 0u) + first_column4;

  float m = kHidden, l = 0.0;
  vec4 sum[4];
  [[unroll]] for (int c = 0; c < 4; ++c) sum[c] = vec4(0.0);

  for (uint j0 = visited.x; j0 < visited.y; j0 += kKeys) {
    float s[8];
    [[unroll]] for (int j = 0; j < 8; ++j) s[j] = 0.0;
    for (uint slice = 0u; slice < p.d_k4; slice += kSlice4) {
      // One vec4 of Q and one of K per lane: 32 rows × 4.
      uint c = slice + thread % kSlice4;
      uint staged = thread / kSlice4;
      q_slice[thread] = c < p.d_k4 ? LOAD(q, queries_at + min(first + staged, p.queries - 1u) * p.d_k4 + c) : vec4(0.0);
      k_slice[thread] = c < p.d_k4 ? LOAD(k, keys_at + min(j0 + staged, p.keys - 1u) * p.d_k4 + c) : vec4(0.0);
      barrier();
      [[unroll]] for (uint c4 = 0u; c4 < kSlice4; ++c4) {
        vec4 qs = q_slice[row * kSlice4 + c4];
        [[unroll]] for (int j = 0; j < 8; ++j) s[j] += dot(qs, k_slice[(uint(j) * kLanes + lane) * kSlice4 + c4]);
      }
      barrier();
    }
    bool is_open = j0 + kKeys <= visited.y && all_visible(p.mask, map, first, last, j0, j0 + kKeys - 1u);
    // Loops without indexed local arrays: the long code of mask and extras is compiled once instead of 8 times.
    uint shown = 0xffu;
    if (!is_open) {
      shown = 0u;
      [[dont_unroll]] for (uint j = 0u; j < 8u; ++j) {
        uint key = j0 + j * kLanes + lane;
        if (key < p.keys && i < p.queries && is_visible(p.mask, map, i, key)) shown |= 1u << j;
      }
    }
    if (has_extras()) {
      [[dont_unroll]] for (uint j = 0u; j < 8u; ++j) {
        float score = 0.0;
        [[unroll]] for (uint n = 0u; n < 8u; ++n) score = n == j ? s[n] : score;
        score = scaled_score(score, head, i, j0 + j * kLanes + lane);
        [[unroll]] for (uint n = 0u; n < 8u; ++n) s[n] = n == j ? score : s[n];
      }
    } else {
      [[unroll]] for (int j = 0; j < 8; ++j) s[j] *= p.scale;
    }
    float top = m;
    [[unroll]] for (int j = 0; j < 8; ++j) {
      s[j] = (shown >> j & 1u) != 0u ? s[j] : kHidden;
      top = max(top, s[j]);
    }
    part[thread] = top;
    barrier();
    [[unroll]] for (uint other = 0u; other < kLanes; ++other) top = max(top, part[row * kLanes + other]);
    barrier();
    float total = 0.0, shift = softmax_shift(top);
    [[unroll]] for (int j = 0; j < 8; ++j) {
      float e = s[j] == kHidden ? 0.0 : exp(s[j] - shift);
      weight[row * kKeys + uint(j) * kLanes + lane] = e;
      total += e;
    }
    part[thread] = total;
    barrier();
    float rescale = exp(m - top);
    l *= rescale;
    [[unroll]] for (uint other = 0u; other < kLanes; ++other) l += part[row * kLanes + other];
    m = top;
    [[unroll]] for (int c = 0; c < 4; ++c) sum[c] *= rescale;

    for (uint part_key = 0u; part_key < kKeys; part_key += kValueKeys) {
      barrier();
      for (uint n = thread; n < kValueKeys * kColumns4; n += 128u) {
        uint key = min(j0 + part_key + n / kColumns4, p.keys - 1u);
        uint column4 = n % kColumns4;
        value[n] = first_column4 + column4 < p.d_v4 ? LOAD(v, values_at + key * p.d_v4 + column4) : vec4(0.0);
      }
      barrier();
      for (uint key = 0u; key < kValueKeys; ++key) {
        float w = weight[row * kKeys + part_key + key];
        [[unroll]] for (int c = 0; c < 4; ++c) sum[c] = fma(vec4(w), value[key * kColumns4 + uint(c) * kLanes + lane], sum[c]);
      }
    }
    barrier();
  }

  if (i >= p.queries) return;
  vec2 ml = row_stats(m, l);
  float inverse = l == 0.0 ? 0.0 : 1.0 / ml.y;
  [[unroll]] for (int c = 0; c < 4; ++c) {
    uint column4 = first_column4 + uint(c) * kLanes + lane;
    if (column4 >= p.d_v4) continue;
    merged[merged_at(item, head, i) + column4] = is_uniform(ml) ? mean_value(item, head, column4) : sum[c] * inverse;
  }
  if (lane == 0u && gl_WorkGroupID.z == 0u) stats[stats_at(item, head, i)] = ml;
}
