// Turns a raw score q·k into the input of mask and softmax: scaled, capped, with the position bias, changed by the
// user's expression, then with the painted number; 0 in a head whose pattern is uniform. Needs lib/mask.glsl and push
// constants p with scale, softcap, bias_at and mask.
//   position bias at p.bias_at: reach, then [head, 2·reach + 1] floats by distance key − query, clamped to ±reach;
//   or kOfKeys | keys, heads, then [item, head, keys] floats;
//   or, where kDistances is set in the reach, what distances add to the raw score (ops/distance_scores.h): reach, columns, rows of
//   queries, rows of keys, the words of [item, head, query, column] and of [item, head, key, column] floats (0: none), then
//   [2·reach + 1] columns by distance
#include "lib/tanh.glsl"

bool has_extras() { return p.softcap > 0.0 || p.bias_at != 0u || kHasScoreExpression || kHasPaint; }

const uint kDistances = 0x80000000u;

float distance_score(bool is_of_query, MapMask map, uint i, uint j) {
  int reach = int(MASK_WORDS(p.bias_at) & ~kDistances);
  uint column = MASK_WORDS(p.bias_at + 6u + uint(clamp(int(j) - int(i), -reach, reach) + reach));
  uint rows = MASK_WORDS(p.bias_at + (is_of_query ? 2u : 3u)), at = MASK_WORDS(p.bias_at + (is_of_query ? 4u : 5u));
  if (at == 0u) return 0.0;
  uint row = min(is_of_query ? i : j, rows - 1u);
  return uintBitsToFloat(MASK_WORDS(at + ((map.item * p.heads + map.head) * rows + row) * MASK_WORDS(p.bias_at + 1u) + column));
}

const uint kOfKeys = 0x40000000u;

float position_bias(uint item, uint head, uint i, uint j) {
  uint first = MASK_WORDS(p.bias_at);
  if ((first & kOfKeys) != 0u) {
    uint map = item * MASK_WORDS(p.bias_at + 1u) + head;
    return uintBitsToFloat(MASK_WORDS(p.bias_at + 2u + map * (first ^ kOfKeys) + j));
  }
  int reach = int(first);
  int distance = clamp(int(j) - int(i), -reach, reach);
  return uintBitsToFloat(MASK_WORDS(p.bias_at + 1u + head * uint(2 * reach + 1) + uint(distance + reach)));
}

// Every number that is scaled or added here is `precise`, and so is a kernel's own product with the scale: some drivers
// would compute score · scale − m in one rounding, but m, the row's largest score · scale, in two; the largest score
// would differ from itself.
float scaled_score(float score, MapMask map, uint i, uint j) {
  if (map.pattern == kUniform) return 0.0;
  bool has_distances = p.bias_at != 0u && (MASK_WORDS(p.bias_at) & kDistances) != 0u;
  precise float s = score;
  if (has_distances) s += distance_score(true, map, i, j) + distance_score(false, map, i, j);
  s *= p.scale;
  if (p.softcap > 0.0) s = p.softcap * safe_tanh(s / p.softcap);
  if (p.bias_at != 0u && !has_distances) s += position_bias(map.item, map.head, i, j);
  s = expression_score(s, p.mask.expressions_at, map.item, map.head, i, j);
  return kHasPaint ? painted_score(s, p.mask.expressions_at, map.item, map.head, i, j) : s;
}
