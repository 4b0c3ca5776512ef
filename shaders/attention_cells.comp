#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The cells of one head's map that somebody looks at, computed from Q, K and the rows' (m, l); nothing n × n is stored:
//   scores q·k → scaled → masked (fill) → weights exp(masked − m) / l
// A lane evaluates ROWS values below each other (pool 1: so many cells; else each the pool × pool square behind a value: the
// maximum for weights, the mean for the rest, masked cells left out). Workgroup z counts heads from first_head.
//   cells [head, tile row, tile column] (value, 1 where every cell behind it is masked)
#define ROWS 4
layout(local_size_x = 32) in;
#include "lib/load.glsl"
#include "params/mask.h"
#include "params/cells.h"

layout(push_constant) uniform Push { CellsParameters p; };
VEC4_INPUT(0, q);  // [head, query, d_k4] of the batch item
VEC4_INPUT(1, k);  // [head, key, d_k4]
layout(set = 0, binding = 2, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 3, std430) readonly buffer stats_buffer { vec2 stats[]; };  // [item, head, query]
layout(set = 0, binding = 4, std430) writeonly buffer cells_buffer { vec2 cells[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/mask.glsl"

const uint kScores = 0u, kMasked = 2u, kWeights = 3u;

float finish(uint head, uint i, float score, bool shows) {
  if (p.stage == kScores) return score;
  float scaled = score * p.scale;
  if (p.stage < kMasked) return scaled;
  if (!shows) scaled = p.fill;
  if (p.stage == kMasked) return scaled;
  if (!shows && p.has_finite_fill == 0u) return 0.0;
  vec2 ml = stats[(p.batch_item * p.heads + head) * p.queries + i];
  return ml.y > 0.0 ? exp(scaled - ml.x) / ml.y : 0.0;
}

void main() {
  uint head = p.first_head + gl_WorkGroupID.z;
  uint tile_columns = (p.columns + p.pool - 1u) / p.pool;
  uint tile_rows = (p.rows + p.pool - 1u) / p.pool;
  uint tile_column = gl_GlobalInvocationID.x;
  uint tile_row = gl_WorkGroupID.y * ROWS;
  if (tile_column >= tile_columns) return;
  MapMask map = load_map_mask(p.mask, p.batch_item, head, p.heads, p.keys);
  uint out_at = p.out_at + gl_WorkGroupID.z * tile_rows * tile_columns;

  float pooled[ROWS];
  uint count[ROWS];
  bool is_masked[ROWS];
  [[unroll]] for (int r = 0; r < ROWS; ++r) { pooled[r] = 0.0; count[r] = 0u; is_masked[r] = true; }
  for (uint dx = 0u; dx < p.pool; ++dx) {
    uint j = p.column + tile_column * p.pool + dx;
    if (j >= p.column + p.columns) break;
    uint k_at = (head * p.keys + j) * p.d_k4;
    for (uint dy = 0u; dy < p.pool; ++dy) {
      uint row[ROWS], q_at[ROWS];
      float score[ROWS];
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        row[r] = p.row + (tile_row + uint(r)) * p.pool + dy;
        q_at[r] = (head * p.queries + min(row[r], p.queries - 1u)) * p.d_k4;
        score[r] = 0.0;
      }
      for (uint c = 0u; c < p.d_k4; ++c) {
        vec4 ks = LOAD(k, k_at + c);
        [[unroll]] for (int r = 0; r < ROWS; ++r) {
          vec4 qs = LOAD(q, q_at[r] + c);
          score[r] = fma(qs.w, ks.w, fma(qs.z, ks.z, fma(qs.y, ks.y, fma(qs.x, ks.x, score[r]))));
        }
      }
      [[unroll]] for (int r = 0; r < ROWS; ++r) {
        if (row[r] >= p.row + p.rows) continue;
        bool shows = is_visible(p.mask, map, row[r], j);
        float value = finish(head, row[r], score[r], shows);
        bool counts = p.pool == 1u || p.stage != kMasked || shows;
        if (p.stage == kWeights) pooled[r] = max(pooled[r], value);
        else if (counts) pooled[r] += value;
        if (counts) ++count[r];
        is_masked[r] = is_masked[r] && !shows;
      }
    }
  }
  [[unroll]] for (int r = 0; r < ROWS; ++r) {
    if (tile_row + uint(r) >= tile_rows) break;
    float value = p.stage == kWeights ? pooled[r] : (count[r] > 0u ? pooled[r] / float(count[r]) : p.fill);
    cells[out_at + (tile_row + uint(r)) * tile_columns + tile_column] = vec2(value, is_masked[r] ? 1.0 : 0.0);
  }
}
