#version 450
#extension GL_GOOGLE_include_directive : require
// One head's numbers of every real token replaced by their mean over the real tokens of the batch item, in place (mean ablation):
//   x[t] <- 1 / (end - begin) * sum over begin <= u < end of x[u],  begin <= t < end
//   values [item, token, slots] vec4, ranges [item, 2]: the first real token and one past the last
// A workgroup takes four components (gl_WorkGroupID.x) of one item (gl_WorkGroupID.y).
layout(local_size_x = 64) in;
#include "params/edit_head.h"

layout(push_constant) uniform Push { EditHeadParameters p; };
layout(set = 0, binding = 0, std430) buffer values_buffer { vec4 values[]; };
layout(set = 0, binding = 1, std430) readonly buffer ranges_buffer { uint ranges[]; };

shared vec4 sums[64];

void main() {
  uint lane = gl_LocalInvocationID.x, item = gl_WorkGroupID.y;
  uint begin = ranges[(p.first_item + item) * 2], end = ranges[(p.first_item + item) * 2 + 1];
  uint base = item * p.stride4 + p.head_at4 + gl_WorkGroupID.x;
  vec4 sum = vec4(0.0);
  for (uint token = begin + lane; token < end; token += 64) sum += values[base + token * p.row4];
  sums[lane] = sum;
  barrier();
  for (uint half_count = 32; half_count > 0; half_count /= 2) {
    if (lane < half_count) sums[lane] += sums[lane + half_count];
    barrier();
  }
  vec4 mean = sums[0] / float(max(end - begin, 1u));
  for (uint token = begin + lane; token < end; token += 64) values[base + token * p.row4] = mean;
}
