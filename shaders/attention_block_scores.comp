#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// First step of attention by blocks of queries, for devices where loads cost more than arithmetic (CPUs): the raw scores of the
// block's rows against every key that is visible to any of them. 8 lanes own 8 rows × 32 keys in registers; with SHUFFLE, where
// subgroups are exactly these lanes, 16 rows: a lane loads two of them and the others read them by shuffles.
//   scores [item, head, row of the block, keys4]
layout(local_size_x = 8) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
VEC4_INPUT(0, q);
VEC4_INPUT(1, k);
layout(set = 0, binding = 2, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 3, std430) writeonly buffer scores_buffer { float scores[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/mask.glsl"

#ifdef SHUFFLE
const uint kRows = 16u;
#else
layout(constant_id = 0) const uint kRows = 8u;  // 1 where a single query is computed: typing one more token
#endif
layout(constant_id = 1) const bool kRoundsProducts = false;
#include "lib/score_sum.glsl"
const uint kLaneKeys = 4u;

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint block_row = gl_WorkGroupID.y * kRows;
  uint first = p.block_row + block_row;
  uint last = min(first + kRows, min(p.queries, p.block_row + p.block_rows)) - 1u;
  uint j0 = gl_WorkGroupID.x * 8u * kLaneKeys;
  uint item = gl_WorkGroupID.z / p.heads;
  uint head = gl_WorkGroupID.z % p.heads;
  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  if (j0 >= visited.y || j0 + 8u * kLaneKeys <= visited.x) return;

#ifdef SHUFFLE
  uint upper_at = q_at(item, head, min(first + lane, last)), lower_at = q_at(item, head, min(first + 8u + lane, last));
#else
  uint row_at[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) row_at[r] = q_at(item, head, min(first + uint(r), last));
#endif
  uint key_at[kLaneKeys];
  [[unroll]] for (int t = 0; t < kLaneKeys; ++t) {
    key_at[t] = k_at(item, head, min(j0 + uint(t) * 8u + lane, p.keys - 1u));
  }
  float s[kRows * kLaneKeys];
  [[unroll]] for (int n = 0; n < kRows * kLaneKeys; ++n) s[n] = 0.0;
  for (uint c = 0u; c < p.d_k4; ++c) {
    vec4 ks[kLaneKeys];
    [[unroll]] for (int t = 0; t < kLaneKeys; ++t) ks[t] = LOAD(k, key_at[t] + c);
#ifdef SHUFFLE
    vec4 upper = LOAD(q, upper_at + c), lower = LOAD(q, lower_at + c);
#endif
    [[unroll]] for (int r = 0; r < kRows; ++r) {
#ifdef SHUFFLE
      vec4 qs = subgroupShuffle(r < 8 ? upper : lower, uint(r % 8));
#else
      vec4 qs = LOAD(q, row_at[r] + c);
#endif
      [[unroll]] for (int t = 0; t < kLaneKeys; ++t) {
        s[r * 4 + t] = score_sum(s[r * 4 + t], qs, ks[t]);
      }
    }
  }
  uint row_width = keys4() * 4u;
  uint out_at = scratch_at(item, head, block_row) * 4u;
  [[unroll]] for (int t = 0; t < kLaneKeys; ++t) {
    uint j = j0 + uint(t) * 8u + lane;
    if (j >= row_width) break;
    [[unroll]] for (int r = 0; r < kRows; ++r) {
      if (first + uint(r) <= last) scores[out_at + uint(r) * row_width + j] = s[r * 4 + t];
    }
  }
}
