#version 450
#extension GL_GOOGLE_include_directive : require
// sum = factor · x + y in some rows of one item: a residual connection after a branch that an intervention changed.
//   sum, x, y [token, row4] vec4
layout(local_size_x = 64) in;
#include "params/edit_head.h"

layout(push_constant) uniform Push { EditHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer sum_buffer { vec4 sums[]; };
layout(set = 0, binding = 1, std430) readonly buffer x_buffer { vec4 x[]; };
layout(set = 0, binding = 2, std430) readonly buffer y_buffer { vec4 y[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.width4, column4 = at_lane % p.width4;
  if (token >= p.tokens) return;
  uint at = (p.first + token) * p.row4 + column4;
  sums[at] = p.factor * x[at] + y[at];
}
