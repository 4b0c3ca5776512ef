#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The requested cells of one head's map, each evaluated exactly. 8 lanes own 8 rows × 32 keys in registers. Workgroup z counts
// heads from first_head.
//   cells [head, row, column] (value, 1 where the cell is masked)
layout(local_size_x = 8) in;
#include "lib/load.glsl"
#include "lib/cells.glsl"
layout(constant_id = 0) const bool kRoundsProducts = false;
#include "lib/score_sum.glsl"

const uint kRows = 8u;
const uint kLaneKeys = 4u;

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint head = p.first_head + gl_WorkGroupID.z;
  uint tile_row = gl_WorkGroupID.y * kRows, tile_column = gl_WorkGroupID.x * 8u * kLaneKeys;
  uint first = p.row + tile_row, last = p.row + min(tile_row + kRows, p.rows) - 1u;
  uint j0 = p.column + tile_column, j1 = p.column + min(tile_column + 8u * kLaneKeys, p.columns) - 1u;
  MapMask map = load_map_mask(p.mask, p.batch_item, head, p.heads, p.keys);
  bool is_open = all_visible(p.mask, map, first, last, j0, j1);
  bool is_hidden = !any_visited(map, first, last, j0, j1);

  float s[kRows * kLaneKeys];
  [[unroll]] for (int n = 0; n < kRows * kLaneKeys; ++n) s[n] = 0.0;
  if (p.stage < kMasked || !is_hidden) {
    uint row_at[kRows], key_at[kLaneKeys];
    [[unroll]] for (int r = 0; r < kRows; ++r) row_at[r] = q_at(head, min(first + uint(r), last));
    [[unroll]] for (int t = 0; t < kLaneKeys; ++t) key_at[t] = k_at(head, min(j0 + uint(t) * 8u + lane, j1));
    for (uint c = 0u; c < p.d_k4; ++c) {
      vec4 ks[kLaneKeys];
      [[unroll]] for (int t = 0; t < kLaneKeys; ++t) ks[t] = LOAD(k, key_at[t] + c);
      [[unroll]] for (int r = 0; r < kRows; ++r) {
        vec4 qs = LOAD(q, row_at[r] + c);
        [[unroll]] for (int t = 0; t < kLaneKeys; ++t) {
          s[r * 4 + t] = score_sum(s[r * 4 + t], qs, ks[t]);
        }
      }
    }
  }

  // A loop from here on: unrolled 32 times, the mask's code takes drivers minutes to compile.
  vec4 scores[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) scores[r] = vec4(s[r * 4], s[r * 4 + 1], s[r * 4 + 2], s[r * 4 + 3]);
  uint out_at = p.out_at + (gl_WorkGroupID.z * p.rows + tile_row) * p.columns + tile_column + lane;
  [[dont_unroll]] for (uint r = 0u; r <= last - first; ++r) {
    bvec4 is_masked = bvec4(is_hidden);
    if (!is_open && !is_hidden) {
      [[dont_unroll]] for (uint t = 0u; t < kLaneKeys; ++t) is_masked[t] = !is_visible(p.mask, map, first + r, j0 + t * 8u + lane);
    }
    precise vec4 value = p.stage == kScores ? scores[r] : scores[r] * p.scale;
    if (p.stage != kScores && has_extras()) {
      [[dont_unroll]] for (uint t = 0u; t < kLaneKeys; ++t) value[t] = stage_score(scores[r][t], map, first + r, j0 + t * 8u + lane);
    }
    if (p.stage >= kMasked) value = mix(value, vec4(p.fill), is_masked);
    if (p.stage == kWeights) {
      vec2 ml = stats[stats_at(head, first + r)];
      value = ml.y == 0.0 ? vec4(0.0) : exp(value - ml.x) / ml.y;
      if (!has_finite_fill()) value = mix(value, vec4(0.0), is_masked);
      if (kHasDropout) {
        [[dont_unroll]] for (uint t = 0u; t < kLaneKeys; ++t) {
          value[t] = kept_weight(value[t], p.mask.expressions_at, map.item, head, first + r, j0 + t * 8u + lane);
        }
      }
    }
    [[unroll]] for (int t = 0; t < kLaneKeys; ++t) {
      if (j0 + uint(t) * 8u + lane <= j1) cells[out_at + r * p.columns + uint(t) * 8u] = vec2(value[t], is_masked[t] ? 1.0 : 0.0);
    }
  }
}
