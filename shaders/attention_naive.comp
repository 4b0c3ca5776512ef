#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The simple reference kernel: one lane per (query, four columns of its output), two passes over the keys, any size.
layout(local_size_x = 16) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
#include "lib/attention_io.glsl"

// The map's item counts from the batch's first, `item` from the dispatch's.
float score(uint item, MapMask map, uint i, uint j) {
  uint query_at = q_at(item, map.head, i), key_at = k_at(item, map.head, j);
  float sum = 0.0;
  for (uint c = 0u; c < p.d_k4; ++c) sum += dot(LOAD(q, query_at + c), LOAD(k, key_at + c));
  return scaled_score(sum, map, i, j);
}

void main() {
  uint column4 = gl_GlobalInvocationID.x;
  uint i = p.block_row + gl_WorkGroupID.y;
  uint item = gl_WorkGroupID.z / p.heads;
  uint head = gl_WorkGroupID.z % p.heads;
  if (column4 >= p.d_v4) return;
  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);

  float m = kHidden;
  for (uint j = 0u; j < p.keys; ++j) {
    if (is_visible(p.mask, map, i, j)) m = max(m, score(item, map, i, j));
  }
  float l = 0.0, shift = softmax_shift(m);
  vec4 sum = vec4(0.0);
  for (uint j = 0u; j < p.keys; ++j) {
    if (!is_visible(p.mask, map, i, j)) continue;
    float weight = exp(score(item, map, i, j) - shift);
    l += weight;
    sum += kept_weight(weight, p.mask.expressions_at, map.item, head, i, j) * LOAD(v, v_at(item, head, j) + column4);
  }
  vec2 ml = row_stats(m, l);
  vec4 result = l == 0.0 ? (is_uniform(ml) ? mean_value(item, head, column4, i) : vec4(0.0)) : sum / ml.y;
  merged[merged_at(item, head, i) + column4] = result;
  if (column4 == 0u) stats[stats_at(item, head, i)] = ml;
}
