// Parameters of attention_cells_*.comp: one rectangle of one stage's map, for consecutive heads. Needs params/mask.h before
// it. 128 bytes, all that every device has.
struct CellsParameters {
  uint stage;       // 0 scores, 1 scaled, 2 masked, 3 weights
  uint batch_item;  // for the mask
  uint heads;
  uint group;     // heads that share one head of keys
  uint q_tokens;  // rows that a head of q and of stats has room for
  uint k_tokens;
  uint queries;
  uint keys;
  uint d_k4;
  uint first_head;  // workgroup z = 0
  uint row;         // first query
  uint rows;
  uint column;  // first key
  uint columns;
  uint pool;         // edge of the square of cells behind one value …
  uint strip_begin;  // … and which of its rows this dispatch adds: sums wait in the output until the last ones are in
  uint strip_end;
  uint out_at;  // vec2 where the first head's tile begins in the output
  float scale;
  float softcap;
  uint bias_at;
  uint has_finite_fill;
  float fill;
  MaskParameters mask;
};
