#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The cells of one head's map, pooled: each value covers a rectangle of pool × column_pool cells, the maximum for weights (peaks are
// kept) unless their mean is asked for, the mean for the rest, without masked cells in the mean of masked scores. A lane owns one rectangle in each
// of 4 tile rows and works through them 4 keys at a time. Workgroup z counts heads from first_head.
// llvmpipe ends loops silently after 65,535 rounds of all loops of a shader together, and GPU drivers time out: large ones are
// computed in strips of their rows, one dispatch after another.
//   cells [head, tile row, tile column] (value, 1 where all its cells are masked); before the last strip (sum or
//   maximum, cells shown)
layout(local_size_x = 8) in;
#include "lib/load.glsl"
#include "lib/cells.glsl"

layout(constant_id = 0) const bool kHasExtras = true;     // softcap, position bias or an expression
layout(constant_id = 1) const bool kMeansWeights = true;  // stage kMeanWeights: what isn't needed costs time on a processor
layout(constant_id = 2) const bool kRoundsProducts = false;
#include "lib/score_sum.glsl"

const uint kRows = 4u;
const uint kKeys = 4u;

void main() {
  uint head = p.first_head + gl_WorkGroupID.z;
  uint tile_columns = (p.columns + p.column_pool - 1u) / p.column_pool;
  uint tile_rows = (p.rows + p.pool - 1u) / p.pool;
  uint tile_column = gl_GlobalInvocationID.x;
  uint tile_row = gl_WorkGroupID.y * kRows;
  if (tile_column >= tile_columns) return;
  uint row_end = p.row + p.rows, column_end = p.column + p.columns;
  uint first = p.row + tile_row * p.pool, last = min(first + kRows * p.pool, row_end) - 1u;
  uint j0 = p.column + gl_WorkGroupID.x * 8u * p.column_pool, j1 = min(j0 + 8u * p.column_pool, column_end) - 1u;
  MapMask map = load_map_mask(p.mask, p.batch_item, head, p.heads, p.keys);
  bool is_open = all_visible(p.mask, map, first, last, j0, j1);
  bool is_hidden = p.stage >= kMasked && !any_visited(map, first, last, j0, j1);

  uint out_at = p.out_at + (gl_WorkGroupID.z * tile_rows + tile_row) * tile_columns + tile_column;
  float pooled[kRows], shown_here[kRows];
  [[unroll]] for (int r = 0; r < kRows; ++r) {
    bool is_new = p.strip_begin == 0u || tile_row + uint(r) >= tile_rows;
    vec2 before = is_new ? vec2(0.0) : cells[out_at + uint(r) * tile_columns];
    pooled[r] = before.x;
    shown_here[r] = before.y;
  }
  for (uint dx = 0u; dx < p.column_pool; dx += kKeys) {
    uint j = p.column + tile_column * p.column_pool + dx;
    uint keys_here = min(min(kKeys, p.column_pool - dx), column_end - min(j, column_end));
    uint key_at[kKeys];
    [[unroll]] for (int t = 0; t < kKeys; ++t) key_at[t] = k_at(head, min(j + uint(t), p.keys - 1u));
    for (uint dy = p.strip_begin; dy < p.strip_end; ++dy) {
      float s[kRows * kKeys];
      [[unroll]] for (int n = 0; n < kRows * kKeys; ++n) s[n] = 0.0;
      if (!is_hidden) {
        uint row_at[kRows];
        [[unroll]] for (int r = 0; r < kRows; ++r) {
          row_at[r] = q_at(head, min(first + uint(r) * p.pool + dy, p.queries - 1u));
        }
        for (uint c = 0u; c < p.d_k4; ++c) {
          vec4 ks[kKeys];
          [[unroll]] for (int t = 0; t < kKeys; ++t) ks[t] = LOAD(k, key_at[t] + c);
          [[unroll]] for (int r = 0; r < kRows; ++r) {
            vec4 qs = LOAD(q, row_at[r] + c);
            [[unroll]] for (int t = 0; t < kKeys; ++t) {
              s[r * 4 + t] = score_sum(s[r * 4 + t], qs, ks[t]);
            }
          }
        }
      }
      vec4 scores[kRows];
      [[unroll]] for (int r = 0; r < kRows; ++r) scores[r] = vec4(s[r * 4], s[r * 4 + 1], s[r * 4 + 2], s[r * 4 + 3]);
      [[dont_unroll]] for (uint r = 0u; r < kRows; ++r) {
        uint i = first + r * p.pool + dy;
        if (i >= row_end) break;
        vec4 exists = vec4(lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(keys_here)));
        vec4 shows = exists;
        if (!is_open) {
          [[dont_unroll]] for (uint t = 0u; t < keys_here; ++t) shows[t] = is_visible(p.mask, map, i, j + t) ? 1.0 : 0.0;
        }
        precise vec4 value = p.stage == kScores ? scores[r] : scores[r] * p.scale;
        if (kHasExtras && p.stage != kScores) {
          [[dont_unroll]] for (uint t = 0u; t < kKeys; ++t) value[t] = stage_score(scores[r][t], map, i, j + t);
        }
        if (p.stage >= kWeights) {
          value = mix(vec4(has_finite_fill() ? p.fill : kHidden), value, equal(shows, vec4(1.0)));
          value = mix(vec4(kHidden), value, equal(exists, vec4(1.0)));
          float top = max(max(value.x, value.y), max(value.z, value.w));  // the largest score has the largest weight
          vec2 ml = stats[stats_at(head, i)];
          bool has_weights = ml.y != 0.0 && (has_finite_fill() || shows != vec4(0.0));
          if (kMeansWeights || kHasDropout) {
            vec4 counts = has_finite_fill() ? exists : shows;
            vec4 weights = mix(vec4(0.0), exp(value - ml.x), equal(counts, vec4(1.0))) / ml.y;
            if (kHasDropout) {
              [[dont_unroll]] for (uint t = 0u; t < kKeys; ++t) {
                weights[t] = kept_weight(weights[t], p.mask.expressions_at, map.item, head, i, j + t);
              }
            }
            float both = kMeansWeights ? pooled[r] + dot(weights, vec4(1.0))
                                       : max(max(max(weights.x, weights.y), max(weights.z, weights.w)), pooled[r]);
            if (has_weights) pooled[r] = is_nan(ml.y) || is_nan(pooled[r]) ? not_a_number() : both;
          } else if (has_weights && !is_nan(pooled[r])) {
            pooled[r] = is_nan(ml.y) ? not_a_number() : max(pooled[r], exp(top - ml.x) / ml.y);
          }
        } else {
          vec4 counts = p.stage == kMasked ? shows : exists;
          pooled[r] += dot(mix(vec4(0.0), value, equal(counts, vec4(1.0))), vec4(1.0));
        }
        shown_here[r] += dot(shows, vec4(1.0));
      }
    }
  }
  uint width = min(p.column_pool, column_end - (p.column + tile_column * p.column_pool));
  [[dont_unroll]] for (uint r = 0u; r < kRows; ++r) {
    if (tile_row + r >= tile_rows) break;
    if (p.strip_end < p.pool) {
      cells[out_at + r * tile_columns] = vec2(pooled[r], shown_here[r]);
      continue;
    }
    uint height = min(p.pool, row_end - (first + r * p.pool));
    float count = p.stage == kMasked ? shown_here[r] : float(width * height);
    float value = p.stage == kWeights ? pooled[r] : (count > 0.0 ? pooled[r] / count : p.fill);
    cells[out_at + r * tile_columns] = vec2(value, shown_here[r] > 0.0 ? 0.0 : 1.0);
  }
}
