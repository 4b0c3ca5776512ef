// From a raw score q·k to the input of mask and softmax: scaled, capped, with the position bias, then what the user's expression makes
// of it, with its painted number; 0 in a head whose pattern is uniform. Needs lib/mask.glsl and push constants p with scale, softcap,
// bias_at and mask.
//   position bias at p.bias_at: reach, then [head, 2·reach + 1] floats by distance key − query, clamped to ±reach;
//   or kOfKeys | keys, heads, then [item, head, keys] floats
#include "lib/tanh.glsl"

bool has_extras() { return p.softcap > 0.0 || p.bias_at != 0u || kHasScoreExpression || kHasPaint; }

const uint kOfKeys = 0x80000000u;

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

float scaled_score(float score, MapMask map, uint i, uint j) {
  if (map.pattern == kUniform) return 0.0;
  float s = score * p.scale;
  if (p.softcap > 0.0) s = p.softcap * safe_tanh(s / p.softcap);
  if (p.bias_at != 0u) s += position_bias(map.item, map.head, i, j);
  s = expression_score(s, p.mask.expressions_at, map.item, map.head, i, j);
  return kHasPaint ? painted_score(s, p.mask.expressions_at, map.item, map.head, i, j) : s;
}
