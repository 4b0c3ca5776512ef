// The mask as kernels read it: a rule in numbers and offsets into one buffer of words (ops/mask_buffer.h packs it).
struct MaskParameters {
  uint causal;         // 1: key j ≤ query i, outside the prefix
  uint window;         // 0: none; else |i − j| < window, outside the prefix
  uint prefix;         // keys j < prefix are visible to everybody
  uint key_padding;    // 1: keys at and after the item's length are masked
  uint deny_at;        // word where the table of deny planes begins, [batch, heads] plane numbers; 0: there are none
  uint allow_at;       // likewise for allow planes, which win
  uint planes_at;      // word where plane 0 begins
  uint words_per_row;  // of a plane: ceil(keys / 32)
  uint plane_words;    // queries · words_per_row
};
