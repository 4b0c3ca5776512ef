// Parameters of scale_head.comp. Widths and strides count vec4.
struct ScaleHeadParameters {
  uint tokens;
  uint first;
  uint width4;    // of the head's slot
  uint row4;      // from one token's slot to the next
  uint head_at4;  // where the slot of token 0 begins
  uint stride4;   // from one batch item to the next
  float factor;
};
