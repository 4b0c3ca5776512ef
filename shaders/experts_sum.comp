#version 450
#extension GL_GOOGLE_include_directive : require
// y = Σ gate · result over a token's experts, in the order in which they were chosen, plus the shared expert's result, as it
// is or times σ(its gate).
//   results [pair, width4], routing (lib/routing.glsl), y and shared [item, token, width4], gate [item, token, 1]   all vec4
#include "params/experts.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { ExpertsParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer results_buffer { vec4 results[]; };
layout(set = 0, binding = 1, std430) readonly buffer routing_buffer { uint routing[]; };
layout(set = 0, binding = 2, std430) writeonly buffer y_buffer { vec4 y[]; };
layout(set = 0, binding = 3, std430) readonly buffer shared_buffer { vec4 shared_result[]; };
layout(set = 0, binding = 4, std430) readonly buffer gate_buffer { vec4 gate[]; };

void main() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // groups beyond one axis' limit continue along y
  uint number = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint row = number / p.width4, column4 = number % p.width4;
  if (row >= p.rows) return;
  vec4 sum = vec4(0.0);
  for (uint slot = 0u; slot < p.slots; ++slot) {
    uint pair = row * p.slots + slot;
    sum = fma(vec4(uintBitsToFloat(routing[p.pairs + pair])), results[pair * p.width4 + column4], sum);
  }
  uint item = row / p.tokens, token = p.first + row % p.tokens;
  uint at = item * p.y_stride4 + token * p.width4 + column4;
  if (p.shared_kind != 0u) {
    float factor = p.shared_kind == 1u ? 1.0 : 1.0 / (1.0 + exp(-gate[item * p.gate_stride4 + token].x));
    sum = fma(vec4(factor), shared_result[at], sum);
  }
  y[at] = sum;
}
