// Shared by attention_cells*.comp: values of a head's map, computed from Q, K and the rows' (m, l); nothing n × n is stored:
//   scores q·k → scaled → masked (fill) → weights exp(masked − m) / l
#include "params/mask.h"
#include "params/cells.h"

layout(push_constant) uniform Push { CellsParameters p; };
VEC4_INPUT(0, q);  // [head, query, d_k4] of the batch item
VEC4_INPUT(1, k);  // [KV head, key, d_k4]
layout(set = 0, binding = 2, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 3, std430) readonly buffer stats_buffer { vec2 stats[]; };  // [item, head, query]
layout(set = 0, binding = 4, std430) buffer cells_buffer { vec2 cells[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/nan.glsl"
#include "lib/mask.glsl"
#include "lib/score.glsl"

uint q_at(uint head, uint i) { return (head * p.q_tokens + i) * p.d_k4; }
uint k_at(uint head, uint j) { return (head / p.group * p.k_tokens + j) * p.d_k4; }
uint stats_at(uint head, uint i) { return (p.batch_item * p.heads + head) * p.q_tokens + i; }

bool has_finite_fill() { return p.fill != kHidden; }

const uint kScores = 0u, kContentPosition = 1u, kPositionContent = 2u, kMasked = 4u, kWeights = 5u, kMeanWeights = 6u;  // MapStage

// Returns the stage's number before the mask for a raw score.
float stage_score(float score, MapMask map, uint i, uint j) {
  if (p.stage == kContentPosition || p.stage == kPositionContent) return distance_score(p.stage == kContentPosition, map, i, j);
  return scaled_score(score, map, i, j);
}

// Can any query of [first, last] see a key of [j0, j1]? If not, no masked score and no weight there needs q·k.
bool any_visited(MapMask map, uint first, uint last, uint j0, uint j1) {
  uvec2 visited = visited_keys(p.mask, map, first, last, p.keys);
  return j0 < visited.y && j1 >= visited.x;
}
