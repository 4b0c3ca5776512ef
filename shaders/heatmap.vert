#version 450
#extension GL_GOOGLE_include_directive : require
// The quad of a heatmap, as a strip of four vertices without a vertex buffer.
#include "params/heatmap.h"

layout(push_constant) uniform Push { HeatmapParameters p; };

void main() {
  vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
  vec2 pixel = vec2(p.quad_x, p.quad_y) + corner * vec2(p.quad_width, p.quad_height);
  gl_Position = vec4(pixel * vec2(p.to_clip_x, p.to_clip_y) - 1.0, 0.0, 1.0);
}
