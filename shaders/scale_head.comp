#version 450
#extension GL_GOOGLE_include_directive : require
// One head's slot of the merged matrix times a factor, in place: 0 knocks the head out before W_O.
//   merged [item, token, slots] vec4
layout(local_size_x = 64) in;
#include "params/scale_head.h"

layout(push_constant) uniform Push { ScaleHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer merged_buffer { vec4 merged[]; };

void main() {
  uint token = gl_GlobalInvocationID.x / p.width4, column4 = gl_GlobalInvocationID.x % p.width4;
  if (token >= p.tokens) return;
  uint at = gl_WorkGroupID.y * p.stride4 + p.head_at4 + (p.first + token) * p.row4 + column4;
  merged[at] *= p.factor;
}
