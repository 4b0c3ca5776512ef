// Parameters of rotate.comp. Widths and strides count floats.
struct RotateParameters {
  uint first_item;  // of this dispatch, for the positions
  uint heads;
  uint tokens;      // of each head that are rotated …
  uint first;       // … from this one on
  uint all_tokens;  // of an item, in the table of positions
  uint capacity;    // capacity in tokens of a head
  uint width;       // of a row, padded
  uint stride;      // from one batch item to the next
  uint pairs;
  uint is_interleaved;
};
