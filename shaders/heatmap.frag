#version 450
#extension GL_GOOGLE_include_directive : require
// A matrix as cells whose colours app/shell/cell_colors.h has found: stripes where masked, lines between large cells, an
// outlined row and column. A pixel reads one word, and a heatmap pays only for what it has: the constants are chosen draw by
// draw.
//   cells: a word per cell, R | G << 8 | B << 16 and 255 << 24 where masked; TEXELS: as a texel buffer, the cheaper read where
//   a processor draws
#include "params/heatmap.h"
#include "lib/ui_cells.glsl"

layout(constant_id = 0) const bool kHatched = true;
layout(constant_id = 1) const bool kHasGrid = true;
layout(constant_id = 2) const bool kHasCrosshair = true;
layout(constant_id = 3) const bool kIsRounded = true;

layout(push_constant) uniform Push { HeatmapParameters p; };
#ifdef TEXELS
layout(set = 0, binding = 0) uniform usamplerBuffer cells;
vec4 cell_color(uint word) { return unpack_color(texelFetch(cells, int(word)).r); }
#else
layout(set = 0, binding = 0, std430) readonly buffer cell_buffer { uint cells[]; };
vec4 cell_color(uint word) { return unpack_color(cells[word]); }
#endif
layout(location = 0) out vec4 color;

const uint kNone = 0xffffffffu;

void main() {
  vec2 from_corner = gl_FragCoord.xy - vec2(p.area_x, p.area_y);
  vec2 area = vec2(p.area_width, p.area_height);
  vec2 cell_count = vec2(p.columns, p.rows);
  vec2 pixels_per_cell = area / cell_count;
  vec2 at = from_corner / pixels_per_cell;
  uvec2 cell = uvec2(clamp(at, vec2(0.0), cell_count - 1.0));

  vec4 known = cell_color(p.cells_at + (cell.y * p.columns + cell.x) * p.is_uploaded);
  vec3 result = known.rgb;
  if (kHatched) {
    vec4 stripes = unpack_color(p.hatch);
    stripes.a *= known.a * hatch_coverage(gl_FragCoord.xy, p.pixels_per_unit);
    result = over(result, stripes);
  }

  if (kHasGrid) {
    vec2 to_line = fract(at) * pixels_per_cell;  // each cell draws the line at its left and at its top
    bvec2 on_line = bvec2(to_line.x < p.pixels_per_unit && cell.x > 0u, to_line.y < p.pixels_per_unit && cell.y > 0u);
    if (any(on_line)) result = over(result, unpack_color(p.grid));
  }

  if (kHasCrosshair) {
    float marked = 0.0;
    float width = 1.5 * p.pixels_per_unit;
    if (p.crosshair_row != kNone) {
      float begin = float(p.crosshair_row) * pixels_per_cell.y;
      marked = max(marked, outline_coverage(from_corner.y, begin, begin + pixels_per_cell.y, width));
    }
    if (p.crosshair_column != kNone) {
      float begin = float(p.crosshair_column) * pixels_per_cell.x;
      marked = max(marked, outline_coverage(from_corner.x, begin, begin + pixels_per_cell.x, width));
    }
    vec4 crosshair = unpack_color(p.crosshair);
    result = over(result, vec4(crosshair.rgb, crosshair.a * marked));
  }

  float alpha = kIsRounded ? rounded_coverage(from_corner - 0.5 * area, area, p.rounding) : 1.0;
  color = vec4(result, alpha);
}
