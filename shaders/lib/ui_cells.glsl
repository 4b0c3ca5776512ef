// Functions of heatmap.frag that use no buffer: colours, stripes, outlines.

vec4 unpack_color(uint color) { return unpackUnorm4x8(color); }

/// `top` over `ground`; the ground is opaque.
vec3 over(vec3 ground, vec4 top) { return mix(ground, top.rgb, top.a); }

/// Returns how much of a stripe covers the pixel, 0 … 1: diagonals 1.5 units wide, 5 apart, fixed to the screen.
float hatch_coverage(vec2 pixel, float pixels_per_unit) {
  float period = 5.0 * pixels_per_unit;
  float width = 1.5 * pixels_per_unit;
  float across = mod(pixel.x + pixel.y, period * 1.41421356) * 0.70710678;  // distance along the diagonal's normal
  float to_middle = abs(across - 0.5 * period);
  return clamp(0.5 * width - to_middle + 0.5, 0.0, 1.0);
}

/// 1 inside of a rounded rectangle of `size` whose middle is 0, fading over a pixel.
float rounded_coverage(vec2 from_middle, vec2 size, float radius) {
  vec2 corner = abs(from_middle) - 0.5 * size + radius;
  float distance = length(max(corner, 0.0)) + min(max(corner.x, corner.y), 0.0) - radius;
  return clamp(0.5 - distance, 0.0, 1.0);
}

/// 1 on the two lines that enclose the band [begin, end] from outside, each `width` thick.
float outline_coverage(float at, float begin, float end, float width) {
  float outside = max(begin - at, at - end);
  return clamp(outside + 0.5, 0.0, 1.0) * clamp(width - outside + 0.5, 0.0, 1.0);
}
