#version 450
#extension GL_GOOGLE_include_directive : require
// A matrix as coloured cells: colour = map[255 · (clamp(value · row scale) − low) / (high − low)], or the same of their
// logarithms, stripes where masked, lines between large cells, an outlined row and column. A cell has a uniform colour, NaN
// and ±∞ one of their own; where several cells share a pixel, the largest value of the first 4 × 4 is drawn, so that peaks are
// kept, or the one that isn't finite.
//   words: float values [rows, columns], mask bits, float row scales [rows] and colour maps [256], at the offsets given
#include "params/heatmap.h"
#include "lib/nan.glsl"
#include "lib/ui_cells.glsl"

layout(push_constant) uniform Push { HeatmapParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer word_buffer { uint words[]; };
layout(location = 0) out vec4 color;

const uint kNone = 0xffffffffu;

bool is_masked(uint cell) { return p.masked_at != 0u && (words[p.masked_at + (cell >> 5)] >> (cell & 31u) & 1u) != 0u; }

float value_at(uint row, uint cell) {
  float value = uintBitsToFloat(words[p.values_at + cell]);
  return p.row_scale_at != 0u ? value * uintBitsToFloat(words[p.row_scale_at + row]) : value;
}

vec3 map_color(float value) {
  float range = p.high - p.low;
  float inside = clamp(value, p.low, p.high);
  float part = range > 0.0 ? (inside - p.low) / range : 0.0;
  if (p.is_log != 0u && range > 0.0) part = clamp(log(inside / p.low) / log(p.high / p.low), 0.0, 1.0);
  return unpack_color(words[p.color_map_at + uint(part * 255.0 + 0.5)]).rgb;
}

vec3 cell_color(uvec2 first, uvec2 step) {
  uint cell = first.y * p.columns + first.x;
  float value = value_at(first.y, cell);
  bool masked = is_masked(cell);
  uvec2 end = min(first + step, uvec2(p.columns, p.rows));
  for (uint row = first.y; row < end.y; ++row) {
    for (uint column = first.x; column < end.x; ++column) {
      uint other = row * p.columns + column;
      if (other == cell || is_masked(other)) continue;
      float candidate = value_at(row, other);
      if (masked || !is_finite(candidate) || (is_finite(value) && candidate > value)) value = candidate;
      masked = false;
    }
  }
  if (!masked) return is_finite(value) ? map_color(value) : unpack_color(p.not_finite).rgb;
  vec3 ground = is_nan(value) ? unpack_color(p.missing).rgb : map_color(value);
  vec4 stripes = unpack_color(p.hatch);
  stripes.a *= hatch_coverage(gl_FragCoord.xy, p.pixels_per_unit);
  return over(over(ground, unpack_color(p.hatch_ground)), stripes);
}

void main() {
  vec2 from_corner = gl_FragCoord.xy - vec2(p.area_x, p.area_y);
  vec2 area = vec2(p.area_width, p.area_height);
  vec2 cells = vec2(p.columns, p.rows);
  vec2 pixels_per_cell = area / cells;
  vec2 at = from_corner / pixels_per_cell;
  uvec2 cell = uvec2(clamp(at, vec2(0.0), cells - 1.0));

  vec3 result = unpack_color(p.missing).rgb;
  if (p.is_uploaded != 0u) {
    uvec2 step = uvec2(clamp(ceil(1.0 / pixels_per_cell - 0.01), vec2(1.0), vec2(4.0)));
    result = cell_color(cell, step);
  }

  vec4 grid = unpack_color(p.grid);
  if (grid.a > 0.0) {
    vec2 to_line = fract(at) * pixels_per_cell;  // each cell draws the line at its left and at its top
    bvec2 on_line = bvec2(to_line.x < p.pixels_per_unit && cell.x > 0u, to_line.y < p.pixels_per_unit && cell.y > 0u);
    if (any(on_line)) result = over(result, grid);
  }

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

  float alpha = p.rounding > 0.0 ? rounded_coverage(from_corner - 0.5 * area, area, p.rounding) : 1.0;
  color = vec4(result, alpha);
}
