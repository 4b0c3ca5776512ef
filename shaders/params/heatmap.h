// Parameters of heatmap.{vert,frag}: one matrix drawn as cells. Lengths are pixels, colours R | G << 8 | B << 16 | A << 24.
// 84 of the 128 bytes that every device has.
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
  uint cells_at;     // colours [rows, columns], in words of the buffer
  uint is_uploaded;  // 0: the cells didn't fit the buffer, all have the colour at cells_at
  uint rows;
  uint columns;
  uint hatch;
  uint grid;
  uint crosshair;
  uint crosshair_row;  // 0xffffffff: none
  uint crosshair_column;
  float pixels_per_unit;
  float rounding;
};
