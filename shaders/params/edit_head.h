// Parameters of scale_head.comp and add_to_head.comp. Widths and strides count vec4.
struct EditHeadParameters {
  uint tokens;
  uint first;
  uint width4;    // of the head's slot
  uint row4;      // from one token's slot to the next
  uint head_at4;  // offset of token 0's slot
  uint stride4;   // from one batch item to the next
  float factor;   // unused by add_to_head.comp
};
