#version 450
#extension GL_GOOGLE_include_directive : require
// counts[slot] += how many of some numbers of each row are NaN or infinite. A run without any writes nothing.
//   numbers [row, stride] float
//   counts  [slot] uint
layout(local_size_x = 64) in;
#include "params/odd_numbers.h"
#include "lib/nan.glsl"

layout(push_constant) uniform Push { OddNumbersParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer numbers_buffer { float numbers[]; };
layout(set = 0, binding = 1, std430) buffer counts_buffer { uint counts[]; };

void main() {
  uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along z
  uint at = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint row = at / p.count, column = at % p.count;
  if (row >= p.rows || (p.first_row + row) % p.period >= p.kept) return;
  if (!is_finite(numbers[row * p.stride + p.first + column])) atomicAdd(counts[p.slot], 1u);
}
