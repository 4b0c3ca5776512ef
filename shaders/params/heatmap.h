// Parameters of heatmap.{vert,frag}: one matrix drawn as cells. Lengths are pixels, colours R | G << 8 | B << 16 | A << 24.
// Offsets count 32-bit words of the value buffer. 120 of the 128 bytes that every device has.
struct HeatmapParameters {
  float area_x;  // of all cells; may reach far beyond the quad
  float area_y;
  float area_width;
  float area_height;
  float quad_x;  // the part to draw
  float quad_y;
  float quad_width;
  float quad_height;
  float to_clip_x;  // 2 / image width
  float to_clip_y;
  uint values_at;     // float [rows, columns]
  uint masked_at;     // one bit per cell; 0: none (word 0 of the buffer is never allocated)
  uint row_scale_at;  // float [rows]; 0: none
  uint color_map_at;  // 256 colours
  uint rows;
  uint columns;
  float low;  // with is_log above 0
  float high;
  uint is_log;  // 1: colours are spread over the logarithms of the values
  uint hatch;
  uint hatch_ground;
  uint missing;
  uint not_finite;  // cells that are NaN or infinite
  uint grid;        // alpha 0: no lines
  uint crosshair;
  uint crosshair_row;  // 0xffffffff: none
  uint crosshair_column;
  float pixels_per_unit;
  float rounding;
  uint is_uploaded;  // 0: the values didn't fit the buffer, all cells are missing
};
