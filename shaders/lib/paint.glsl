// Numbers painted onto cells: biases of scores, and patterns that take a head's place; and documents. attention/paint_words.cpp
// packs them. Needs MASK_WORDS and the words at `at` that lib/expression.glsl describes.
//   table:     [item, head] word where the map's plane begins; 0: nothing is painted there
//   plane:     first row | rows | slots | seed | 2 bits a row (0: no paint, 1: biases, 2: a pattern) | slots of [query, key, number]
//   documents: [item, query] first key of the query's document and one past its last
// A cell is in one of two slots, given by two hashes (cuckoo hashing), so that finding it takes no loop: llvmpipe ends loops
// silently after 65,535 rounds of all loops of a shader together. A pattern's number is the logarithm of the painted weight.
const uint kPaintTable = 11u, kDocuments = 12u, kHeadsWord = 2u, kQueriesWord = 3u;  // fields at `at`
const uint kBiasedRow = 1u, kReplacedRow = 2u;

uint paint_hash(uint a, uint b) {
  uint h = a * 0x9e3779b1u ^ b * 0x85ebca77u;
  h = (h ^ h >> 15u) * 0x2c1b3c6du;
  h = (h ^ h >> 12u) * 0x297a2d39u;
  return h ^ h >> 15u;
}

uint paint_slot(uint hash, uint slots) {
  uint high, low;
  umulExtended(hash, slots, high, low);
  return high;
}

uint paint_plane(uint at, uint item, uint head) {
  return MASK_WORDS(MASK_WORDS(at + kPaintTable) + item * MASK_WORDS(at + kHeadsWord) + head);
}

// Returns the kind of the row's paint; `plane`: not 0.
uint row_paint(uint plane, uint i) {
  uint row = i - MASK_WORDS(plane);  // huge where i comes before the plane
  if (row >= MASK_WORDS(plane + 1u)) return 0u;
  return MASK_WORDS(plane + 4u + row / 16u) >> (row % 16u * 2u) & 3u;
}

// The word of the cell's number; 0: the cell isn't painted.
uint find_paint(uint plane, uint i, uint j) {
  uint slots = MASK_WORDS(plane + 2u), seed = MASK_WORDS(plane + 3u);
  uint first = plane + 4u + (MASK_WORDS(plane + 1u) + 15u) / 16u;
  uint slot = first + 3u * paint_slot(paint_hash(i + seed, j), slots);
  bool is_there = MASK_WORDS(slot) == i && MASK_WORDS(slot + 1u) == j;
  if (!is_there) slot = first + 3u * paint_slot(paint_hash(j + seed, ~i), slots);
  return MASK_WORDS(slot) == i && MASK_WORDS(slot + 1u) == j ? slot + 2u : 0u;
}

// Does a painted pattern show the cell? Rows without paint show every cell.
bool paint_shows(uint at, uint item, uint head, uint i, uint j) {
  uint plane = paint_plane(at, item, head);
  if (plane == 0u || row_paint(plane, i) != kReplacedRow) return true;
  return find_paint(plane, i, j) != 0u;
}

// The score with its painted bias, or what a painted pattern puts in its place.
float painted_score(float score, uint at, uint item, uint head, uint i, uint j) {
  uint plane = paint_plane(at, item, head);
  if (plane == 0u) return score;
  uint kind = row_paint(plane, i);
  if (kind == 0u) return score;
  uint word = find_paint(plane, i, j);
  float number = word == 0u ? 0.0 : uintBitsToFloat(MASK_WORDS(word));
  // The kernel of attention and that of its cells could get different bits without `precise`.
  precise float sum = kind == kReplacedRow ? number : score + number;
  return sum;
}

bool is_same_document(uint at, uint item, uint i, uint j) {
  uint queries = MASK_WORDS(at + kQueriesWord);
  uint word = MASK_WORDS(at + kDocuments) + 2u * (item * queries + min(i, queries - 1u));
  return j >= MASK_WORDS(word) && j < MASK_WORDS(word + 1u);
}
