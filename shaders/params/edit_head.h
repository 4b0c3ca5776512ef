// Parameters of scale_head.comp, add_to_head.comp, replace_head.comp, add_rows.comp, average_head.comp and drop_head.comp.
// Widths and strides count vec4.
struct EditHeadParameters {
  uint tokens;  // unused by average_head.comp, like `first`
  uint first;
  uint width4;       // of the head's slot
  uint row4;         // from one token's slot to the next
  uint head_at4;     // offset of token 0's slot
  uint stride4;      // from one batch item to the next
  float factor;      // of scale_head.comp, drop_head.comp and add_rows.comp
  uint first_item;   // of the dispatch, in average_head.comp and drop_head.comp
  uint source_at4;   // of the first row, in the source of replace_head.comp
  uint source_row4;  // from one token's numbers to the next in that of add_to_head.comp; 0: all tokens have the same
  uint head;         // these three of drop_head.comp
  uint key;
  uint threshold;  // what hashes are compared with
};
