// Parameters of attention_*.comp. Widths and strides count vec4. Needs params/mask.h before it. 128 bytes, all that every
// device has.
struct AttentionParameters {
  uint queries;
  uint keys;
  uint heads;
  uint group;     // query heads per KV head (grouped-query attention)
  uint q_tokens;  // capacity in rows of a head of q and of stats
  uint k_tokens;  // capacity in rows of a head of k and v
  uint d_k4;
  uint d_v4;
  uint q_stride4;  // from one batch item of q [head, query, d_k] to the next
  uint k_stride4;
  uint v_stride4;
  uint merged_stride4;  // from one batch item of the merged output to the next
  uint merged_row4;     // from one query's row to the next
  uint merged_head4;    // from one head's slot to the next
  float scale;
  float softcap;         // 0: none
  uint bias_at;          // first word of the position bias in the mask buffer; 0: none
  uint has_finite_fill;  // 1: a fully masked row attends to all keys alike; 0: it has no weights
  float fill;
  uint first_item;  // first batch item of this dispatch, for the mask
  uint block_row;   // first query of this dispatch …
  uint block_rows;  // … and how many fit the scratch
  uint parts;       // of the keys, each with workgroups of its own in attention_tiled.comp
  MaskParameters mask;
};
