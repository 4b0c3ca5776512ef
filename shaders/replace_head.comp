#version 450
#extension GL_GOOGLE_include_directive : require
// One head's numbers of some tokens of one item become given ones, in place (activation patching).
//   values [token, slots] vec4, given [token, width4] vec4 from source_at4 on
layout(local_size_x = 64) in;
#include "params/edit_head.h"

layout(push_constant) uniform Push { EditHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer values_buffer { vec4 values[]; };
layout(set = 0, binding = 1, std430) readonly buffer given_buffer { vec4 given[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.width4, column4 = at_lane % p.width4;
  if (token >= p.tokens) return;
  values[p.head_at4 + (p.first + token) * p.row4 + column4] = given[p.source_at4 + token * p.width4 + column4];
}
