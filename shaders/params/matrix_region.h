// Parameters of matrix_region.comp: one rectangle of a stored matrix. Offsets and strides count floats.
struct MatrixRegionParameters {
  uint base;  // of the matrix in the bound slice
  uint row_stride;
  uint slot_width;   // columns of a slot …
  uint slot_stride;  // … and the distance to the next one (with padding in between)
  uint row;
  uint rows;
  uint column;
  uint columns;
  uint pool;         // rows of a rectangle that is one value …
  uint column_pool;  // … and its columns
  uint out_at;       // index (vec2) of the tile in the output
};
