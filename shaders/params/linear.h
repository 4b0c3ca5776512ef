// Parameters of linear_*.comp, read by glslc and by C++. All widths and strides count vec4, four floats.
struct LinearParameters {
  uint rows;        // of x in this dispatch: `tokens` of each batch item
  uint tokens;      // rows of one batch item that are computed …
  uint x_first;     // … from this one of x on …
  uint y_first;     // … into these rows of y
  uint inner4;      // width of x: d_in rounded up to 4, /4
  uint x_stride4;   // from one batch item of x to the next
  uint first_tile;  // first tile of this dispatch's slice of the packed weight; for bias and sections
  uint tiles;       // of that slice
  uint split4;      // of inner4 for each workgroup along z; with several, sums go to a scratch
  uint key_tile;    // first tile whose columns are keys; tiles before it are queries
  uint value_tile;  // first tile whose columns are values
  uint heads;       // slots of one row of the query section: heads, or 1 for a plain linear layer
  uint kv_heads;    // slots of one row of the key and value sections
  uint d_k4;        // width of a slot in the query and key sections (plain: the whole width of y)
  uint d_v4;        // width of a slot in the value section
  uint q_tokens;    // capacity in rows of a head of q
  uint k_tokens;    // capacity in rows of a head of k and v
  uint q_stride4;   // from one batch item of q to the next
  uint k_stride4;
  uint v_stride4;
  uint combine;  // 0: y; 1: y · v; 2: scale · y + v; 3: y, and scale · y + v as k
  float scale;
  float clip;         // y is cut to ±clip; 0: not, negative: values alone are
  uint expert_tiles;  // of each expert; these four of kernels for experts
  uint experts;
  uint pairs;          // of tokens and the experts they are given to
  uint slots;          // of them that read one row of x: a token's pairs, or 1
  float weight_scale;  // of lib/matrix_product.glsl, for weights of bfloat16
};
