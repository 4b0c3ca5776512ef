#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Second step of attention by blocks: exp(masked(scale · scores) − m), and each row's (m, l). One lane per row, two passes over the
// keys. The next step divides by l, because it has fewer numbers to divide: outputs instead of weights.
//   scores, weights [item, head, row of the block, keys4]
layout(local_size_x = 8) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
VEC4_INPUT(0, scores);
layout(set = 0, binding = 1, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 2, std430) buffer weights_buffer { vec4 weights[]; };
layout(set = 0, binding = 3, std430) writeonly buffer stats_buffer { vec2 stats[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/mask.glsl"
#include "lib/score.glsl"

layout(constant_id = 0) const bool kHasExtras = false;  // softcap, position bias or an expression

const uint kRows = 8u;

// Four scaled scores of a row, with extras capped and with the position bias.
vec4 scaled_scores(uint at, MapMask map, uint i, uint j4) {
  precise vec4 s = LOAD(scores, at + j4);
  if (!kHasExtras) {
    s *= p.scale;
    return s;
  }
  [[unroll]] for (uint c = 0u; c < 4u; ++c) s[c] = scaled_score(s[c], map, i, j4 * 4u + c);
  return s;
}

// Four masked scores of a row; masked ones are kHidden.
vec4 masked_scores(uint at, MapMask map, uint i, uint j4) {
  vec4 s = scaled_scores(at, map, i, j4);
  // Unrolled: llvmpipe ends loops silently after 65,535 rounds of all loops of a shader together, and texts may be long.
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    uint j = j4 * 4u + c;
    if (j >= p.keys || !is_visible(p.mask, map, i, j)) s[c] = kHidden;
  }
  return s;
}

// Four weights of a row after dropout.
vec4 kept_weights(vec4 weights, MapMask map, uint i, uint j4) {
  if (!kHasDropout) return weights;
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    weights[c] = kept_weight(weights[c], p.mask.expressions_at, map.item, map.head, i, j4 * 4u + c);
  }
  return weights;
}

vec4 exponential(vec4 s, float shift) { return mix(exp(s - shift), vec4(0.0), equal(s, vec4(kHidden))); }

void main() {
  uint lane = gl_LocalInvocationID.x;
  uint block_row = gl_WorkGroupID.x * kRows;
  uint first = p.block_row + block_row;
  uint last = min(first + kRows, p.queries) - 1u;
  uint i = first + lane;
  if (i > last) return;
  uint item = gl_WorkGroupID.y / p.heads;
  uint head = gl_WorkGroupID.y % p.heads;
  uint at = scratch_at(item, head, block_row + lane);
  MapMask map = load_map_mask(p.mask, p.first_item + item, head, p.heads, p.keys);
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  uint begin4 = visited.x / 4u, end4 = (visited.y + 3u) / 4u;
  // Every row of the group sees every key up to open4, so the mask needn't be read for each cell.
  uint open4 = begin4;
  uint open_end = p.mask.causal != 0u ? min(visited.y, max(first + 1u, p.mask.prefix)) : visited.y;
  if (open_end > begin4 * 4u && all_visible(p.mask, map, first, last, begin4 * 4u, open_end - 1u)) open4 = open_end / 4u;

  // Extras take many instructions, and a driver compiles each copy of them: the first pass keeps its scores where the second
  // one writes the weights.
  vec4 tops = vec4(kHidden);
  for (uint j4 = begin4; j4 < open4; ++j4) {
    vec4 s = scaled_scores(at, map, i, j4);
    if (kHasExtras) weights[at + j4] = s;
    tops = max(tops, s);
  }
  for (uint j4 = open4; j4 < end4; ++j4) {
    vec4 s = masked_scores(at, map, i, j4);
    if (kHasExtras) weights[at + j4] = s;
    tops = max(tops, s);
  }
  float m = max(max(tops.x, tops.y), max(tops.z, tops.w));
  float shift = softmax_shift(m);
  vec4 sums = vec4(0.0);
  for (uint j4 = begin4; j4 < open4; ++j4) {
    vec4 w = exp((kHasExtras ? weights[at + j4] : scaled_scores(at, map, i, j4)) - shift);
    weights[at + j4] = kept_weights(w, map, i, j4);
    sums += w;
  }
  for (uint j4 = open4; j4 < end4; ++j4) {
    vec4 w = exponential(kHasExtras ? weights[at + j4] : masked_scores(at, map, i, j4), shift);
    weights[at + j4] = kept_weights(w, map, i, j4);
    sums += w;
  }
  stats[stats_at(item, head, i)] = row_stats(m, dot(sums, vec4(1.0)));
}
