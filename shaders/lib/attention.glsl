// Shared by all attention kernels: O = softmax(masked(scale · Q·Kᵀ)) · V.
//   q [item, head, query, d_k4], k [item, KV head, key, d_k4], v [item, KV head, key, d_v4]   vec4; a head's capacity may
//   exceed its tokens
//   merged: vec4, heads side by side (or one after another without the transpose) by merged_row4 and merged_head4
//   stats  [item, head, query]  (m, l): the row's largest visible score and Σ exp(score − m)
//   block scratch [item, head, row of the block, keys4] vec4: scores or weights of a few queries, never of all
#include "params/mask.h"
#include "params/attention.h"
#include "lib/nan.glsl"

layout(push_constant) uniform Push { AttentionParameters p; };

uint keys4() { return (p.keys + 3u) / 4u; }
uint q_at(uint item, uint head, uint i) { return item * p.q_stride4 + (head * p.q_tokens + i) * p.d_k4; }
uint k_at(uint item, uint head, uint j) { return item * p.k_stride4 + (head / p.group * p.k_tokens + j) * p.d_k4; }
uint v_at(uint item, uint head, uint j) { return item * p.v_stride4 + (head / p.group * p.k_tokens + j) * p.d_v4; }
uint stats_at(uint item, uint head, uint i) { return ((p.first_item + item) * p.heads + head) * p.q_tokens + i; }
uint scratch_at(uint item, uint head, uint block_row) { return ((item * p.heads + head) * p.block_rows + block_row) * keys4(); }
uint merged_at(uint item, uint head, uint i) { return item * p.merged_stride4 + i * p.merged_row4 + head * p.merged_head4; }

// (m, l) for views. l = 0: the mask hides every key, and the row has no weights. l = NaN: a visible score is NaN or +∞, or
// all are −∞. Finite fill and no visible key: PyTorch's softmax of equal scores, uniform over all keys, padding included.
vec2 row_stats(float m, float l) {
  if (l == 0.0 && p.has_finite_fill != 0u) return vec2(p.fill, float(p.keys));
  return vec2(m, is_finite(l) ? l : not_a_number());
}
bool is_uniform(vec2 ml) { return p.has_finite_fill != 0u && ml.x == p.fill; }
