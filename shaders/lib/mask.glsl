// The keys that each query sees. Needs params/mask.h; the including kernel declares MASK_WORDS(index) to read the mask
// buffer.
//   buffer:    [batch, 2] first key and one past the last | [batch, heads] deny plane numbers, in their highest 4 bits the pattern that
//              takes the head's place (0: none) | [batch, heads] allow plane numbers
//              | planes | rows | position bias (lib/score.glsl) | what expressions read (lib/expression.glsl)
//   plane:     its first row, how many rows, the word where its rows begin
//   row:       the word where its bits begin; first word | words << 16: key j is bit j % 32 of word j / 32 − first word
// A plane has only rows that hold a cell, and those between; a row only words that do. One cell is a few words.
const uint kNoPlane = 0x0fffffffu, kPatternShift = 28u;
const uint kUniform = 1u, kDiagonal = 2u, kPrevious = 3u, kPainted = 5u;  // attention::FixedPattern; 4: the first token
const float kHidden = -3.402823466e38;  // replaces −inf, to avoid arithmetic with infinities

// The number subtracted from a row's scores before exp. Where every visible score is −∞, that is −∞ itself and the row becomes NaN, as
// PyTorch's does: it must not look like a row that the mask hides.
float softmax_shift(float m) { return m == kHidden ? uintBitsToFloat(0xff800000u) : m; }

bool rule_shows(MaskParameters mask, uint i, uint j) {
  bool is_past = mask.causal == 0u || j <= i;
  bool is_near = mask.window == 0u || (i > j ? i - j : j - i) < mask.window;
  return j < mask.prefix || (is_past && is_near);
}

// A plane as the table of planes has it; y: 0 where there is none.
uvec3 load_plane(MaskParameters mask, uint table_at, uint map) {
  if (table_at == 0u) return uvec3(0u);
  uint plane = MASK_WORDS(table_at + map) & kNoPlane;
  if (plane == kNoPlane) return uvec3(0u);
  uint at = mask.planes_at + plane * 3u;
  return uvec3(MASK_WORDS(at), MASK_WORDS(at + 1u), MASK_WORDS(at + 2u));
}

bool plane_bit(uvec3 plane, uint i, uint j) {
  uint row = i - plane.x;  // huge where i comes before the plane
  if (row >= plane.y) return false;
  uint at = plane.z + row * 2u;
  uint span = MASK_WORDS(at + 1u);
  uint word = j / 32u - (span & 0xffffu);
  if (word >= span >> 16u) return false;
  return (MASK_WORDS(MASK_WORDS(at) + word) >> (j % 32u) & 1u) != 0u;
}

// Has the plane a row among [first, last]?
bool has_rows(uvec3 plane, uint first, uint last) { return plane.y != 0u && last >= plane.x && first < plane.x + plane.y; }

// Kernels with the user's expressions, painted numbers or documents are compiled at run time, with EXPRESSIONS (ops/kernel_variant.h).
#ifdef EXPRESSIONS
#include "lib/expression.glsl"
#include "lib/paint.glsl"
#include "lib/dropout.glsl"
// A weight after dropout. Words: key, threshold, factor (attention/dropout.h).
const uint kDropoutWord = 13u;
float kept_weight(float weight, uint at, uint item, uint head, uint i, uint j) {
  if (!kHasDropout) return weight;
  uint from = MASK_WORDS(at + kDropoutWord);
  uint key = dropout_fold(dropout_fold(dropout_fold(MASK_WORDS(from), item), head), i);
  if (dropout_fold(key, j) < MASK_WORDS(from + 1u)) return 0.0;
  precise float kept = weight * uintBitsToFloat(MASK_WORDS(from + 2u));
  return kept;
}
#else
const bool kHasDropout = false;
float kept_weight(float weight, uint at, uint item, uint head, uint i, uint j) { return weight; }
const bool kHasPaint = false;
const bool kHasDocuments = false;
bool paint_shows(uint at, uint item, uint head, uint i, uint j) { return true; }
float painted_score(float score, uint at, uint item, uint head, uint i, uint j) { return score; }
bool is_same_document(uint at, uint item, uint i, uint j) { return true; }
const bool kHasMaskExpression = false;
const bool kHasScoreExpression = false;
bool expression_shows(uint at, uint item, uint head, uint query, uint key) { return true; }
float expression_score(float score, uint at, uint item, uint head, uint query, uint key) { return score; }
#endif

// The mask's numbers for one map, read once per workgroup.
struct MapMask {
  uint item;
  uint head;
  uint key_begin;  // keys that the padding rule keeps
  uint key_end;
  uvec3 deny;
  uvec3 allow;  // wins
  uint pattern;  // of the keys that a replaced head attends to
};

MapMask load_map_mask(MaskParameters mask, uint item, uint head, uint heads, uint keys) {
  MapMask map;
  map.item = item;
  map.head = head;
  map.key_begin = mask.key_padding != 0u ? MASK_WORDS(item * 2u) : 0u;
  map.key_end = mask.key_padding != 0u ? min(MASK_WORDS(item * 2u + 1u), keys) : keys;
  map.deny = load_plane(mask, mask.deny_at, item * heads + head);
  map.allow = load_plane(mask, mask.allow_at, item * heads + head);
  map.pattern = mask.deny_at == 0u ? 0u : MASK_WORDS(mask.deny_at + item * heads + head) >> kPatternShift;
  return map;
}

// Is the key one of those that a replaced head attends to? (attention/fixed_pattern.h)
bool pattern_shows(MapMask map, uint i, uint j) {
  if (map.pattern <= kUniform || map.pattern == kPainted) return true;
  uint position = map.pattern == kDiagonal ? i : map.pattern == kPrevious ? max(i, 1u) - 1u : 0u;
  return j == max(map.key_begin, min(position, map.key_end - 1u));
}

bool is_visible(MaskParameters mask, MapMask map, uint i, uint j) {
  bool shows = j >= map.key_begin && j < map.key_end && rule_shows(mask, i, j);
  if (kHasDocuments && shows) shows = is_same_document(mask.expressions_at, map.item, i, j);
  if (kHasMaskExpression && shows) shows = expression_shows(mask.expressions_at, map.item, map.head, i, j);
  if (plane_bit(map.deny, i, j)) shows = false;
  if (plane_bit(map.allow, i, j)) shows = true;
  shows = shows && pattern_shows(map, i, j);
  if (kHasPaint && shows && map.pattern == kPainted) shows = paint_shows(mask.expressions_at, map.item, map.head, i, j);
  return shows;
}

// Keys [x, y) that any query of [first, last] can see: the keys that a kernel has to process. Expressions and documents only hide more.
uvec2 visited_keys(MaskParameters mask, MapMask map, uint first, uint last, uint keys) {
  if (has_rows(map.allow, first, last)) return uvec2(0u, keys);
  uint end = map.key_end;
  uint begin = map.key_begin;
  if (mask.causal != 0u) end = min(end, max(last + 1u, mask.prefix));
  if (mask.window != 0u) {
    end = min(end, max(last + mask.window, mask.prefix));
    if (mask.prefix == 0u && first + 1u > mask.window) begin = max(begin, first + 1u - mask.window);
  }
  return uvec2(min(begin, end), end);
}

// Does every query of [i0, i1] see every key of [j0, j1]? Then no cell need be asked for.
bool all_visible(MaskParameters mask, MapMask map, uint i0, uint i1, uint j0, uint j1) {
  if (kHasMaskExpression || kHasDocuments || map.pattern > kUniform || has_rows(map.deny, i0, i1)) return false;
  if (j0 < map.key_begin || j1 >= map.key_end) return false;
  if (j1 < mask.prefix) return true;
  bool is_past = mask.causal == 0u || j1 <= i0;
  bool is_near = mask.window == 0u || ((i1 < j0 || i1 - j0 < mask.window) && (j1 < i0 || j1 - i0 < mask.window));
  return is_past && is_near;
}
