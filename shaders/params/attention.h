// Parameters of attention_*.comp. Widths and strides count vec4. Needs params/mask.h before it.
struct AttentionParameters {
  uint queries;
  uint keys;
  uint heads;
  uint d_k4;
  uint d_v4;
  uint q_stride4;  // from one batch item of q [head, query, d_k] to the next
  uint k_stride4;
  uint v_stride4;
  uint merged_stride4;  // from one batch item of the merged output to the next
  uint merged_row4;     // from one query's row to the next
  uint merged_head4;    // from one head's slot to the next
  float scale;
  uint has_finite_fill;  // 1: a fully masked row attends to all keys alike; 0: it has no weights
  float fill;
  uint first_item;  // batch item that this dispatch begins with, for the mask
  uint block_row;   // attention_block_*.comp: first query of the block, a multiple of 8 …
  uint block_rows;  // … and how many the scratch holds
  MaskParameters mask;
};
