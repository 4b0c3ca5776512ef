#version 450
#extension GL_GOOGLE_include_directive : require
// RoPE (Su et al. 2021), in place: the pair (a, b) of a row becomes (a·cos − b·sin, b·cos + a·sin) with the angle of
// the token's position. One lane per pair.
//   x       [item, head, token, width] float
//   angles  [position, pair] (cos, sin)
//   positions [item, token]
layout(local_size_x = 64) in;
#include "params/rotate.h"

layout(push_constant) uniform Push { RotateParameters p; };
layout(set = 0, binding = 0, std430) buffer x_buffer { float x[]; };
layout(set = 0, binding = 1, std430) readonly buffer angles_buffer { vec2 angles[]; };
layout(set = 0, binding = 2, std430) readonly buffer positions_buffer { uint positions[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.pairs, pair = at_lane % p.pairs;
  if (token >= p.tokens) return;
  token += p.first;
  uint item = gl_WorkGroupID.y / p.heads, head = gl_WorkGroupID.y % p.heads;
  uint row_at = item * p.stride + (head * p.capacity + token) * p.width;
  uint a_at = row_at + (p.is_interleaved != 0u ? pair * 2u : pair);
  uint b_at = a_at + (p.is_interleaved != 0u ? 1u : p.pairs);
  vec2 angle = angles[positions[(p.first_item + item) * p.all_tokens + token] * p.pairs + pair];
  float a = x[a_at], b = x[b_at];
  x[a_at] = a * angle.x - b * angle.y;
  x[b_at] = b * angle.x + a * angle.y;
}
