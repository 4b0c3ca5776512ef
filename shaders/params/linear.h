// Parameters of linear_*.comp, read by glslc and by C++. All widths and strides count vec4, four floats.
struct LinearParameters {
  uint rows;        // of x in this dispatch: whole batch items
  uint tokens;      // rows of one batch item
  uint inner4;      // width of x: d_in rounded up to 4, /4
  uint x_stride4;   // from one batch item of x to the next
  uint first_tile;  // of the packed weight, where this dispatch's slice begins; counts bias and sections
  uint key_tile;    // first tile whose columns are keys; tiles before it are queries
  uint value_tile;  // first tile whose columns are values
  uint heads;       // slots of one row of the output: heads, or 1 for a plain linear layer
  uint d_k4;        // width of a slot in the query and key sections (plain: the whole width of y)
  uint d_v4;        // width of a slot in the value section
  uint qk_stride4;  // from one batch item of q, k to the next
  uint v_stride4;   // from one batch item of v to the next
  uint activation;  // 0: none, 1: ReLU
};
