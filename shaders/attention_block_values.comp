#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Last step of attention by blocks: weights · V / l, written straight into the merged matrix, so that merging heads costs nothing.
// 8 lanes own 8 rows × 16 vec4 columns in registers. With SHUFFLE, where subgroups are exactly these lanes, lane r loads row r of
// the weights and the others take it out of its registers.
//   weights [item, head, row of the block, keys4]
#ifdef ONE_ROW
#define ROWS 1
#else
#define ROWS 8
#endif
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

const uint kSteps = 2u;  // vec4 of weights an iteration: at its end llvmpipe blends every sum with its old value

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint block_row = gl_WorkGroupID.x * ROWS;
  uint first = p.block_row + block_row;
  uint last = min(first + ROWS, p.queries) - 1u;
  uint item = gl_WorkGroupID.y / p.heads;
  uint head = gl_WorkGroupID.y % p.heads;
  uint left = gl_WorkGroupID.z * 16u + lane, right = left + 8u;
  uint last4 = p.d_v4 - 1u;
  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  // Exactly where the softmax's group of the same 8 rows went: there the weights are.
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  uint values_at = v_at(item, head, 0u);
#ifdef SHUFFLE
  uint row_at = scratch_at(item, head, min(block_row + lane, last - p.block_row));
#else
  uint row_at[ROWS];
  [[unroll]] for (int r = 0; r < ROWS; ++r) row_at[r] = scratch_at(item, head, min(block_row + uint(r), last - p.block_row));
#endif

  vec4 left_sum[ROWS], right_sum[ROWS];
  [[unroll]] for (int r = 0; r < ROWS; ++r) { left_sum[r] = vec4(0.0); right_sum[r] = vec4(0.0); }
  uint end4 = (visited.y + 3u) / 4u;
  for (uint begin4 = visited.x / 4u; begin4 < end4; begin4 += kSteps) {
    [[unroll]] for (uint step = 0u; step < kSteps; ++step) {
      uint j4 = min(begin4 + step, end4 - 1u);
      float counts = begin4 + step < end4 ? 1.0 : 0.0;
      vec4 w[ROWS];
#ifdef SHUFFLE
      vec4 mine = LOAD(weights, row_at + j4) * counts;
      [[unroll]] for (int r = 0; r < ROWS; ++r) w[r] = subgroupShuffle(mine, uint(r));
#else
      [[unroll]] for (int r = 0; r < ROWS; ++r) w[r] = LOAD(weights, row_at[r] + j4) * counts;
#endif
      [[unroll]] for (int c = 0; c < 4; ++c) {
        uint key_at = values_at + min(j4 * 4u + uint(c), p.keys - 1u) * p.d_v4;  // weights beyond the last key are zero
        vec4 left_value = LOAD(v, key_at + min(left, last4)), right_value = LOAD(v, key_at + min(right, last4));
        [[unroll]] for (int r = 0; r < ROWS; ++r) {
          left_sum[r] = fma(vec4(w[r][c]), left_value, left_sum[r]);
          right_sum[r] = fma(vec4(w[r][c]), right_value, right_sum[r]);
        }
      }
    }
  }
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    uint i = first + uint(r);
    if (i > last) break;
    float l = stats[stats_at(item, head, i)].y;
    float inverse = l == 0.0 ? 0.0 : 1.0 / l;
    if (left <= last4) merged[merged_at(item, head, i) + left] = left_sum[r] * inverse;
    if (right <= last4) merged[merged_at(item, head, i) + right] = right_sum[r] * inverse;
  }
  if (p.has_finite_fill == 0u) return;
  bool is_any_uniform = false;
  for (uint i = first; i <= last; ++i) is_any_uniform = is_any_uniform || is_uniform(stats[stats_at(item, head, i)]);
  if (!is_any_uniform) return;
  vec4 left_mean = mean_value(item, head, min(left, last4)), right_mean = mean_value(item, head, min(right, last4));
  for (uint i = first; i <= last; ++i) {
    if (!is_uniform(stats[stats_at(item, head, i)])) continue;
    if (left <= last4) merged[merged_at(item, head, i) + left] = left_mean;
    if (right <= last4) merged[merged_at(item, head, i) + right] = right_mean;
  }
}
