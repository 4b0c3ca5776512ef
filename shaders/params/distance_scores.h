// Parameters of distance_scores.comp. Widths and strides count vec4.
struct DistanceScoresParameters {
  uint first_item;  // of this dispatch, for the output
  uint heads;
  uint rows;       // of each head of x
  uint first_row;  // of this dispatch
  uint columns;
  uint x_tokens;  // capacity in rows of a head of x
  uint table_tokens;
  uint d_k4;
  uint x_stride4;  // from one batch item of x to the next
  uint out_at;     // word of the output
};
