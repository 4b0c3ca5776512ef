#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Last step of attention by blocks: weights · V / l, written straight into the merged matrix, so that merging heads costs nothing.
// 8 lanes own 8 rows × 16 vec4 columns in registers. With SHUFFLE, where subgroups are exactly these lanes, lane r loads row r of
// the weights and the others read it by shuffles.
//   weights [item, head, row of the block, keys4]
layout(local_size_x = 8) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
VEC4_INPUT(0, weights);
VEC4_INPUT(1, v);
layout(set = 0, binding = 2, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 3, std430) readonly buffer stats_buffer { vec2 stats[]; };
layout(set = 0, binding = 4, std430) writeonly buffer merged_buffer { vec4 merged[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/mask.glsl"
#include "lib/mean_value.glsl"

#ifdef SHUFFLE
const uint kRows = 8u;
#else
layout(constant_id = 0) const uint kRows = 8u;  // 1 where a single query is computed: typing one more token
#endif

// vec4 of weights per iteration: at its end llvmpipe blends every sum with its old value, which storage loads outweigh, and every
// storage load in the code costs it 50 ms to compile.
#ifdef TEXEL
const uint kSteps = 2u;
#else
const uint kSteps = 1u;
#endif

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint block_row = gl_WorkGroupID.x * kRows;
  uint first = p.block_row + block_row;
  uint last = min(first + kRows, p.queries) - 1u;
  uint item = gl_WorkGroupID.y / p.heads;
  uint head = gl_WorkGroupID.y % p.heads;
  uint left = gl_WorkGroupID.z * 16u + lane, right = left + 8u;
  uint last4 = p.d_v4 - 1u;
  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  // The range is that of the softmax's group of these 8 rows, which wrote the weights.
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  uint values_at = v_at(item, head, 0u);
#ifdef SHUFFLE
  uint row_at = scratch_at(item, head, min(block_row + lane, last - p.block_row));
#else
  uint row_at[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) row_at[r] = scratch_at(item, head, min(block_row + uint(r), last - p.block_row));
#endif

  vec4 left_sum[kRows], right_sum[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) { left_sum[r] = vec4(0.0); right_sum[r] = vec4(0.0); }
  uint end4 = (visited.y + 3u) / 4u;
  for (uint begin4 = visited.x / 4u; begin4 < end4; begin4 += kSteps) {
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      uint j4 = min(begin4 + step, end4 - 1u);
      float counts = begin4 + step < end4 ? 1.0 : 0.0;
      vec4 w[kRows];
#ifdef SHUFFLE
      vec4 mine = LOAD(weights, row_at + j4) * counts;
      [[unroll]] for (int r = 0; r < kRows; ++r) w[r] = subgroupShuffle(mine, uint(r));
#else
      [[unroll]] for (int r = 0; r < kRows; ++r) w[r] = LOAD(weights, row_at[r] + j4) * counts;
#endif
      [[unroll]] for (int c = 0; c < 4; ++c) {
        uint key_at = values_at + min(j4 * 4u + uint(c), p.keys - 1u) * p.d_v4;  // weights beyond the last key are zero
        vec4 left_value = LOAD(v, key_at + min(left, last4)), right_value = LOAD(v, key_at + min(right, last4));
        [[unroll]] for (int r = 0; r < kRows; ++r) {
          left_sum[r] = fma(vec4(w[r][c]), left_value, left_sum[r]);
          right_sum[r] = fma(vec4(w[r][c]), right_value, right_sum[r]);
        }
      }
    }
  }
  // Loops over a copy of the sums: the code after them is compiled once and not for each sum.
  vec4 result[2 * kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) { result[r] = left_sum[r]; result[kRows + r] = right_sum[r]; }
  [[dont_unroll]] for (uint side = 0u; side < 2u; ++side) {
    uint column4 = left + side * 8u;
    if (column4 > last4) break;
    bool has_mean = false;
    vec4 mean = vec4(0.0);
    [[dont_unroll]] for (uint i = first; i <= last; ++i) {
      vec2 ml = stats[stats_at(item, head, i)];
      vec4 value = result[side * kRows + (i - first)] * (ml.y == 0.0 ? 0.0 : 1.0 / ml.y);
      if (is_uniform(ml)) {
        if (!has_mean || kHasDropout) mean = mean_value(item, head, column4, i);
        has_mean = true;
        value = mean;
      }
      merged[merged_at(item, head, i) + column4] = value;
    }
  }
}
