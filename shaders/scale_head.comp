#version 450
#extension GL_GOOGLE_include_directive : require
// One head's slot of the merged matrix times a factor, in place: 0 ablates the head before W_O.
//   merged [item, token, slots] vec4
layout(local_size_x = 64) in;
#include "params/scale_head.h"

layout(push_constant) uniform Push { ScaleHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer merged_buffer { vec4 merged[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.width4, column4 = at_lane % p.width4;
  if (token >= p.tokens) return;
  uint at = gl_WorkGroupID.y * p.stride4 + p.head_at4 + (p.first + token) * p.row4 + column4;
  merged[at] *= p.factor;
}
