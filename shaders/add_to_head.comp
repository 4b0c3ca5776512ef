#version 450
#extension GL_GOOGLE_include_directive : require
// A vector added to one head's numbers of every token (activation addition, Turner et al. 2023), or one for each, in place.
//   values [item, token, slots] vec4, added [width4] or [token, width4] vec4
layout(local_size_x = 64) in;
#include "params/edit_head.h"

layout(push_constant) uniform Push { EditHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer values_buffer { vec4 values[]; };
layout(set = 0, binding = 1, std430) readonly buffer added_buffer { vec4 added[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.width4, column4 = at_lane % p.width4;
  if (token >= p.tokens) return;
  uint at = gl_WorkGroupID.y * p.stride4 + p.head_at4 + (p.first + token) * p.row4 + column4;
  values[at] += added[token * p.source_row4 + column4];
}
