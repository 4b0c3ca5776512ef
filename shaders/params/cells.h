// Parameters of attention_cells_*.comp: one rectangle of one stage's map, for consecutive heads. Needs params/mask.h before
// it. 128 bytes, all that every device has.
struct CellsParameters {
  uint stage;  // MapStage: 0 scores, 1 and 2 what distances add, 3 scaled, 4 masked, 5 weights, 6 weights pooled by the mean
  uint batch_item;  // for the mask
  uint heads;
  uint group;     // query heads per KV head
  uint q_tokens;  // capacity in rows of a head of q and of stats
  uint k_tokens;
  uint queries;
  uint keys;
  uint d_k4;
  uint first_head;  // workgroup z = 0
  uint row;         // first query
  uint rows;
  uint column;  // first key
  uint columns;
  uint pool;         // rows of the rectangle of cells that one value stands for …
  uint column_pool;  // … and its columns
  uint strip_begin;  // the first of its rows in this dispatch: partial sums stay in the output until the last strip
  uint strip_end;
  uint out_at;  // index (vec2) of the first head's tile in the output
  float scale;
  float softcap;
  uint bias_at;
  float fill;  // the least float32 where it isn't finite
  MaskParameters mask;
};
