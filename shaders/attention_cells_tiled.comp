#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The cells of one head's map for GPUs, exact or pooled as attention_cells_exact.comp and attention_cells_pooled.comp give them: a
// workgroup computes 32 × 32 cells at a time (lib/score_tile.glsl). It owns as many whole rectangles of pool × column_pool as fit these, or one that
// is larger and that it walks through. Workgroup z counts heads from first_head. Large squares are computed in strips of their
// rows, one dispatch after another.
//   cells [head, tile row, tile column] (value, 1 where all its cells are masked); before the last strip (sum or
//   maximum, cells shown)
layout(local_size_x = 64) in;
const uint kLanes = 64u, kRolled = 0u;
#include "lib/load.glsl"
#include "lib/cells.glsl"
#include "lib/score_tile.glsl"

const uint kEdge = 32u;                              // of the cells that are computed at a time
const uint kCellPitch = kEdge + 1u;
shared vec2 cell_values[kEdge * kCellPitch];         // (what the cell adds to its square, 1 where it is shown)

// Two squares' or cells' numbers together: the larger weight, the sum of the rest.
vec2 join(vec2 one, vec2 other) {
  float value = one.x + other.x;
  if (p.stage == kWeights && !is_nan(value)) value = max(one.x, other.x);
  return vec2(value, one.y + other.y);
}

void store_square(uint at, vec2 square, uint cell_count) {
  if (p.strip_begin > 0u) square = join(cells[at], square);
  if (p.strip_end >= p.pool) {
    float count = p.stage == kMasked ? square.y : float(cell_count);
    float value = p.stage == kWeights ? square.x : (count > 0.0 ? square.x / count : p.fill);
    square = vec2(value, square.y > 0.0 ? 0.0 : 1.0);
  }
  cells[at] = square;
}

void main() {
  uint head = p.first_head + gl_WorkGroupID.z;
  bool has_one = p.pool > kEdge / 2u || p.column_pool > kEdge / 2u;  // then it walks through it
  uvec2 squares = has_one ? uvec2(1u) : kEdge / uvec2(p.column_pool, p.pool);  // of the workgroup
  uint tile_columns = (p.columns + p.column_pool - 1u) / p.column_pool, tile_rows = (p.rows + p.pool - 1u) / p.pool;
  uint tile_row = gl_WorkGroupID.y * squares.y, tile_column = gl_WorkGroupID.x * squares.x;
  uint first = p.row + tile_row * p.pool, last = min(first + squares.y * p.pool, p.row + p.rows) - 1u;
  uint j0 = p.column + tile_column * p.column_pool, j1 = min(j0 + squares.x * p.column_pool, p.column + p.columns) - 1u;
  MapMask map = load_map_mask(p.mask, p.batch_item, head, p.heads, p.keys);
  bool is_open = all_visible(p.mask, map, first, last, j0, j1);
  bool is_hidden = !any_visited(map, first, last, j0, j1);
  uint out_at = p.out_at + (gl_WorkGroupID.z * tile_rows + tile_row) * tile_columns + tile_column;

  // With one square, rows of the strip; with several, all rows, which are one strip.
  uint row_begin = first + (has_one ? p.strip_begin : 0u);
  uint row_end = min(last + 1u, has_one ? first + p.strip_end : last + 1u);
  bool is_exact = p.pool == 1u && p.column_pool == 1u;
  vec2 mine = vec2(0.0);
  for (uint i0 = row_begin; i0 < row_end; i0 += kEdge) {
    for (uint key0 = j0; key0 <= j1; key0 += kEdge) {
      [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = 0.0;
      if (p.stage < kMasked || !is_hidden) {
        uint q_from[kLoads], k_from[kLoads];
        [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
          q_from[n] = q_at(head, min(i0 + staged_row(n), last));
          k_from[n] = k_at(head, min(key0 + staged_row(n), j1));
        }
        score_tile(q_from, k_from);
      }
      [[dont_unroll]] for (uint r = 0u; r < 4u; ++r) {
        uint i = i0 + ty * 4u + r;
        vec4 score = vec4(0.0);
        [[unroll]] for (uint n = 0u; n < 4u; ++n) {
          if (n == r) score = vec4(s[n * 4u], s[n * 4u + 1u], s[n * 4u + 2u], s[n * 4u + 3u]);
        }
        if (i >= row_end) continue;
        uvec4 j = key0 + tx + uvec4(0u, kSide, 2u * kSide, 3u * kSide);
        bvec4 is_masked = bvec4(is_hidden);
        if (!is_open && !is_hidden) {
          [[dont_unroll]] for (uint t = 0u; t < 4u; ++t) is_masked[t] = !is_visible(p.mask, map, i, j[t]);
        }
        precise vec4 value = p.stage == kScores ? score : score * p.scale;
        if (p.stage != kScores && has_extras()) {
          [[dont_unroll]] for (uint t = 0u; t < 4u; ++t) value[t] = stage_score(score[t], map, i, j[t]);
        }
        if (p.stage >= kMasked) value = mix(value, vec4(p.fill), is_masked);
        if (p.stage >= kWeights) {
          vec2 ml = stats[stats_at(head, i)];
          value = ml.y == 0.0 ? vec4(0.0) : exp(value - ml.x) / ml.y;
          if (!has_finite_fill()) value = mix(value, vec4(0.0), is_masked);
          if (kHasDropout) {
            [[dont_unroll]] for (uint t = 0u; t < 4u; ++t) {
              value[t] = kept_weight(value[t], p.mask.expressions_at, map.item, head, i, j[t]);
            }
          }
        }
        [[unroll]] for (uint t = 0u; t < 4u; ++t) {
          bool exists = j[t] <= j1;
          if (is_exact) {
            if (exists) cells[out_at + (i - first) * p.columns + j[t] - j0] = vec2(value[t], is_masked[t] ? 1.0 : 0.0);
            continue;
          }
          vec2 cell = vec2(exists && (p.stage != kMasked || !is_masked[t]) ? value[t] : 0.0, exists && !is_masked[t] ? 1.0 : 0.0);
          if (has_one) {
            mine = join(mine, cell);
          } else {
            cell_values[(i - first) * kCellPitch + j[t] - j0] = cell;
          }
        }
      }
    }
  }
  if (is_exact) return;

  // The squares' numbers: of each row of a square, then of the square. A single one has 8 × 8 numbers, one of each lane.
  uvec2 edge = has_one ? uvec2(kSide) : uvec2(p.column_pool, p.pool);
  uint height = has_one ? kSide : last - first + 1u;
  if (has_one) cell_values[ty * kCellPitch + tx] = mine;
  barrier();
  for (uint n = thread; n < height * squares.x; n += kLanes) {
    uint at = n / squares.x * kCellPitch + n % squares.x * edge.x;
    vec2 row = cell_values[at];
    for (uint x = 1u; x < edge.x; ++x) row = join(row, cell_values[at + x]);
    cell_values[at] = row;
  }
  barrier();
  for (uint n = thread; n < squares.x * squares.y; n += kLanes) {
    uint y = n / squares.x, x = n % squares.x;
    if (tile_row + y >= tile_rows || tile_column + x >= tile_columns) continue;
    uint at = y * edge.y * kCellPitch + x * edge.x;
    vec2 square = cell_values[at];
    for (uint row = 1u; row < min(edge.y, height - y * edge.y); ++row) square = join(square, cell_values[at + row * kCellPitch]);
    uint cell_rows = min(p.pool, last + 1u - (first + y * p.pool)), cell_columns = min(p.column_pool, j1 + 1u - (j0 + x * p.column_pool));
    store_square(out_at + y * tile_columns + x, square, cell_rows * cell_columns);
  }
}
