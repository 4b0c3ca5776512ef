#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Attention for GPUs in one pass over the keys with the online softmax (Milakov & Gimelshein 2018; FlashAttention, Dao et al.
// 2022, algorithm 1), in square tiles of cells: 256 lanes own 64 queries and take 64 keys at a time, 64 lanes 32 and 32; each lane has
// 4 × 4 scores and as many sums for four rows of the output. The scores are of lib/score_tile.glsl; weights and values of a quarter of the
// keys go through the same shared memory, and the next values are on their way from memory meanwhile. No subgroup operations.
// Values wider than 64 take several workgroups along z. With p.parts above 1 so do parts of the keys, whose results
// attention_merge.comp merges.
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kLanes = 256u;
layout(constant_id = 1) const uint kRolled = 0u;  // 1: loops stay loops, which drivers of processors compile sooner
#include "lib/load.glsl"
#include "lib/attention.glsl"
#include "lib/attention_io.glsl"
#include "lib/score_tile.glsl"

const uint kWeightPitch = kSide + 1u;            // the gap spreads what is read together over the banks
const uint kColumns4 = 16u;                      // vec4 columns of the values of a workgroup …
const uint kLaneColumns4 = kColumns4 / kSide;    // … and of a lane
const uint kValuesAt = kSide * kWeightPitch;     // in `staged`, after weights [key, row4]: values [key, column4]

void main() {
  uint first = p.block_row + gl_WorkGroupID.x * kTileRows;
  uint last = min(first + kTileRows, p.queries) - 1u;
  uint item = gl_WorkGroupID.y / p.heads;
  uint head = gl_WorkGroupID.y % p.heads;
  uint column_groups = (p.d_v4 + kColumns4 - 1u) / kColumns4;
  uint first_column4 = gl_WorkGroupID.z % column_groups * kColumns4;
  uint part = gl_WorkGroupID.z / column_groups;

  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  uint tiles = (visited.y - visited.x + kTileKeys - 1u) / kTileKeys, tiles_here = (tiles + p.parts - 1u) / p.parts;
  uint begin = visited.x + part * tiles_here * kTileKeys, end = min(begin + tiles_here * kTileKeys, visited.y);

  uint q_from[kLoads], k_from[kLoads];
  [[unroll]] for (uint n = 0u; n < kLoads; ++n) q_from[n] = q_at(item, head, min(first + staged_row(n), p.queries - 1u));
  uint keys_at = k_at(item, head, 0u);
  // A lane loads this part of the values of kSide keys: column my_column4 of keys kLanes / kColumns4 apart.
  uint my_column4 = thread % kColumns4, my_key = thread / kColumns4;
  uint values_at = v_at(item, head, 0u) + min(first_column4 + my_column4, p.d_v4 - 1u);
  vec4 next_v[kLoads];

  float m[4], l[4];
  vec4 sum[4u * kLaneColumns4];
  [[unroll]] for (uint r = 0u; r < 4u; ++r) { m[r] = kHidden; l[r] = 0.0; }
  [[unroll]] for (uint n = 0u; n < 4u * kLaneColumns4; ++n) sum[n] = vec4(0.0);

  for (uint j0 = begin; j0 < end; j0 += kTileKeys) {
    [[unroll]] for (uint n = 0u; n < kLoads; ++n) k_from[n] = keys_at + min(j0 + staged_row(n), p.keys - 1u) * p.d_k4;
    score_tile(q_from, k_from);
    [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
      next_v[n] = LOAD(v, values_at + min(j0 + my_key + n * (kLanes / kColumns4), p.keys - 1u) * p.d_v4);
    }
    if (has_extras()) {
      // Loops: the long code is compiled once instead of 16 times.
      vec4 scores[4];
      [[unroll]] for (uint r = 0u; r < 4u; ++r) scores[r] = vec4(s[r * 4u], s[r * 4u + 1u], s[r * 4u + 2u], s[r * 4u + 3u]);
      [[dont_unroll]] for (uint cell = 0u; cell < 16u; ++cell) {
        scores[cell / 4u][cell % 4u] =
            scaled_score(scores[cell / 4u][cell % 4u], map, first + ty * 4u + cell / 4u, j0 + cell % 4u * kSide + tx);
      }
      [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = scores[n / 4u][n % 4u];
    } else {
      [[unroll]] for (uint n = 0u; n < 16u; ++n) {
        precise float scaled = s[n] * p.scale;
        s[n] = scaled;
      }
    }
    if (j0 + kTileKeys > end || !all_visible(p.mask, map, first, last, j0, j0 + kTileKeys - 1u)) {
      uint shown = 0u;
      [[dont_unroll]] for (uint cell = 0u; cell < 16u; ++cell) {
        uint i = first + ty * 4u + cell / 4u, j = j0 + cell % 4u * kSide + tx;
        if (j < end && i < p.queries && is_visible(p.mask, map, i, j)) shown |= 1u << cell;
      }
      [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = (shown >> n & 1u) != 0u ? s[n] : kHidden;
    }
    // The largest score of each row, m's new value, among the lanes of a row.
    vec4 top;
    [[unroll]] for (uint r = 0u; r < 4u; ++r) top[r] = max(max(s[r * 4u], s[r * 4u + 1u]), max(s[r * 4u + 2u], s[r * 4u + 3u]));
    barrier();
    staged[tx * kWeightPitch + ty] = top;
    barrier();
    [[unroll]] for (uint other = 0u; other < kSide; ++other) top = max(top, staged[other * kWeightPitch + ty]);
    [[unroll]] for (uint r = 0u; r < 4u; ++r) {
      top[r] = max(top[r], m[r]);
      float shift = softmax_shift(top[r]), rescale = m[r] == top[r] ? 1.0 : exp(m[r] - top[r]);  // exp(0) may be off
      l[r] *= rescale;
      m[r] = top[r];
      [[unroll]] for (uint n = 0u; n < kLaneColumns4; ++n) sum[r * kLaneColumns4 + n] *= rescale;
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        float e = s[r * 4u + j] == kHidden ? 0.0 : exp(s[r * 4u + j] - shift);
        s[r * 4u + j] = e;
        l[r] += e;  // of this lane's keys: added to the others' at the end
      }
    }
    if (kHasDropout) {  // l is of all weights: what is dropped is missing from the sum
      vec4 weights[4];
      [[unroll]] for (uint r = 0u; r < 4u; ++r) weights[r] = vec4(s[r * 4u], s[r * 4u + 1u], s[r * 4u + 2u], s[r * 4u + 3u]);
      [[dont_unroll]] for (uint cell = 0u; cell < 16u; ++cell) {
        weights[cell / 4u][cell % 4u] = kept_weight(weights[cell / 4u][cell % 4u], p.mask.expressions_at, map.item, head,
                                                    first + ty * 4u + cell / 4u, j0 + cell % 4u * kSide + tx);
      }
      [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = weights[n / 4u][n % 4u];
    }
    [[dont_unroll]] for (uint quarter = 0u; quarter < 4u; ++quarter) {
      vec4 weight = vec4(0.0);
      [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        weight = j == quarter ? vec4(s[j], s[4u + j], s[8u + j], s[12u + j]) : weight;
      }
      barrier();
      staged[tx * kWeightPitch + ty] = weight;
      [[unroll]] for (uint n = 0u; n < kLoads; ++n) staged[kValuesAt + thread + n * kLanes] = next_v[n];
      barrier();
      if (quarter < 3u) {
        uint key = j0 + (quarter + 1u) * kSide + my_key;
        [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
          next_v[n] = LOAD(v, values_at + min(key + n * (kLanes / kColumns4), p.keys - 1u) * p.d_v4);
        }
      }
      const uint together = kRolled != 0u ? 1u : kSide;
      uint end_key = rolled(kSide);
      for (uint first_key = 0u; first_key < end_key; first_key += together) [[unroll]] for (uint n_key = 0u; n_key < together; ++n_key) {
        uint key = first_key + n_key;
        vec4 w = staged[key * kWeightPitch + ty], values[kLaneColumns4];
        [[unroll]] for (uint n = 0u; n < kLaneColumns4; ++n) values[n] = staged[kValuesAt + key * kColumns4 + n * kSide + tx];
        [[unroll]] for (uint n = 0u; n < 4u * kLaneColumns4; ++n) {
          sum[n] = fma(vec4(w[n / kLaneColumns4]), values[n % kLaneColumns4], sum[n]);
        }
      }
    }
  }

  vec4 total = vec4(l[0], l[1], l[2], l[3]);
  barrier();
  staged[tx * kWeightPitch + ty] = total;
  barrier();
  total = vec4(0.0);
  [[unroll]] for (uint other = 0u; other < kSide; ++other) total += staged[other * kWeightPitch + ty];
  vec4 tops = vec4(m[0], m[1], m[2], m[3]);
  // A loop over a copy of the sums: the code after it is compiled once and not for each sum.
  vec4 result[4u * kLaneColumns4];
  [[unroll]] for (uint n = 0u; n < 4u * kLaneColumns4; ++n) result[n] = sum[n];
  [[dont_unroll]] for (uint n = 0u; n < 4u * kLaneColumns4; ++n) {
    uint r = n / kLaneColumns4, i = first + ty * 4u + r;
    uint column4 = first_column4 + n % kLaneColumns4 * kSide + tx;
    if (i >= p.queries) break;
    bool has_stats = column4 == 0u;
    float top = 0.0, row_total = 0.0;
    [[unroll]] for (uint other = 0u; other < 4u; ++other) {
      top = other == r ? tops[other] : top;
      row_total = other == r ? total[other] : row_total;
    }
    if (p.parts > 1u) {
      uint at = (part * gl_NumWorkGroups.y + gl_WorkGroupID.y) * p.block_rows + i - p.block_row;
      if (column4 < p.d_v4) merged[at * p.d_v4 + column4] = result[n];
      if (has_stats) stats[at] = vec2(top, row_total);
      continue;
    }
    vec2 ml = row_stats(top, row_total);
    float inverse = row_total == 0.0 ? 0.0 : 1.0 / ml.y;
    if (column4 < p.d_v4) {
      merged[merged_at(item, head, i) + column4] = is_uniform(ml) ? mean_value(item, head, column4, i) : result[n] * inverse;
    }
    if (has_stats) stats[stats_at(item, head, i)] = ml;
  }
}
