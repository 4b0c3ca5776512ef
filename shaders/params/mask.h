// The mask as kernels read it: a rule in numbers and offsets into one buffer of words (attention/mask_words.cpp packs it).
struct MaskParameters {
  uint causal;          // 1: key j ≤ query i, outside the prefix
  uint window;          // 0: none; else |i − j| < window, outside the prefix
  uint prefix;          // keys j < prefix are visible to every query
  uint key_padding;     // 1: keys at and after the item's length are masked
  uint deny_at;         // word where the table of deny planes begins, [batch, heads] plane numbers; 0: there are none
  uint allow_at;        // likewise for allow planes, which win
  uint planes_at;       // word where plane 0 begins
  uint expressions_at;  // word where what lib/expression.glsl reads begins; 0: no expression, paint or documents
};
