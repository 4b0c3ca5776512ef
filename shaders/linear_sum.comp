#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The end of a linear layer whose inner axis was split among workgroups (linear_tiled.comp): adds the parts of each sum, in their
// order, then bias, activation and what follows. A workgroup of 64 has 4 rows of one tile.
layout(local_size_x = 64) in;
#include "lib/load.glsl"
VEC4_INPUT(0, part);  // [part, row, tile, 16]
#include "lib/linear.glsl"

void main() {
  uint column4 = gl_LocalInvocationID.x % kTile4;
  uint row = gl_WorkGroupID.x * 4u + gl_LocalInvocationID.x / kTile4;
  uint tile = gl_WorkGroupID.y;
  if (row >= p.rows) return;
  uint at = (row * p.tiles + tile) * kTile4 + column4;
  vec4 sum = LOAD(part, at);
  for (uint begin4 = p.split4; begin4 < p.inner4; begin4 += p.split4) {
    at += p.rows * p.tiles * kTile4;
    sum += LOAD(part, at);
  }
  store(row, p.first_tile + tile, column4, sum);
}
