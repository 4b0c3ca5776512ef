#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// Dropout of one head's numbers, in place: a number becomes 0 where the hash of its place is below the threshold, else
// number · factor, factor = 1 / (1 − probability).
//   values [item, token, slots] vec4
layout(local_size_x = 64) in;
#include "params/edit_head.h"
#include "lib/dropout.glsl"

layout(push_constant) uniform Push { EditHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer values_buffer { vec4 values[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at_lane = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint token = at_lane / p.width4, column4 = at_lane % p.width4;
  if (token >= p.tokens) return;
  uint at = gl_WorkGroupID.y * p.stride4 + p.head_at4 + (p.first + token) * p.row4 + column4;
  uint key = dropout_fold(dropout_fold(dropout_fold(p.key, p.first_item + gl_WorkGroupID.y), p.head), p.first + token);
  vec4 value = values[at];
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    value[c] = dropout_fold(key, column4 * 4u + c) < p.threshold ? 0.0 : value[c] * p.factor;
  }
  values[at] = value;
}
