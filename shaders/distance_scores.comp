#version 450
#extension GL_GOOGLE_include_directive : require
// Products of queries or keys with the vectors of distances, into a mask's words (lib/score.glsl). One lane per product.
//   x      [item, head, token, d_k4]
//   table  [head, column, d_k4]
//   words  from p.out_at on [item, head, row, column] float
layout(local_size_x = 64) in;
#include "params/distance_scores.h"

layout(push_constant) uniform Push { DistanceScoresParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer x_buffer { vec4 x[]; };
layout(set = 0, binding = 1, std430) readonly buffer table_buffer { vec4 table[]; };
layout(set = 0, binding = 2, std430) buffer words_buffer { float words[]; };

void main() {
  uint column = gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  if (column >= p.columns) return;
  uint row = p.first_row + gl_WorkGroupID.y;
  uint item = gl_WorkGroupID.z / p.heads, head = gl_WorkGroupID.z % p.heads;
  uint x_at = item * p.x_stride4 + (head * p.x_tokens + row) * p.d_k4;
  uint table_at = (head * p.table_tokens + column) * p.d_k4;
  float sum = 0.0;
  for (uint c = 0u; c < p.d_k4; ++c) {
    vec4 a = x[x_at + c], b = table[table_at + c];
    sum = fma(a.w, b.w, fma(a.z, b.z, fma(a.y, b.y, fma(a.x, b.x, sum))));
  }
  words[p.out_at + (((p.first_item + item) * p.heads + head) * p.rows + row) * p.columns + column] = sum;
}
