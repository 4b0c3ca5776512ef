#version 450
#extension GL_GOOGLE_include_directive : require
// result = LayerNorm(x + y) · weight + bias over the last axis (torch.nn.LayerNorm), one lane a row, two passes for the
// variance so that large means don't cancel it. x, y and result are [item, token, width4] vec4, items stride4 apart.
layout(local_size_x = 64) in;
#include "params/layer_norm.h"

layout(push_constant) uniform Push { LayerNormParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer x_buffer { vec4 x[]; };
layout(set = 0, binding = 1, std430) readonly buffer y_buffer { vec4 y[]; };
layout(set = 0, binding = 2, std430) readonly buffer affine_buffer { vec4 affine[]; };  // [2, width4]: weight, then bias
layout(set = 0, binding = 3, std430) writeonly buffer result_buffer { vec4 result[]; };

// 1 for the components of column4 that exist, 0 for the padding.
vec4 inside(uint column4) { return vec4(lessThan(uvec4(column4 * 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(p.width))); }

void main() {
  uint row = gl_GlobalInvocationID.x;
  if (row >= p.rows) return;
  uint at = row / p.tokens * p.stride4 + row % p.tokens * p.width4;
  vec4 total = vec4(0.0);
  for (uint c = 0u; c < p.width4; ++c) total += x[at + c] + y[at + c];  // padding holds zeros
  float mean = dot(total, vec4(1.0)) / float(p.width);
  vec4 squares = vec4(0.0);
  for (uint c = 0u; c < p.width4; ++c) {
    vec4 centred = (x[at + c] + y[at + c] - mean) * inside(c);
    squares += centred * centred;
  }
  float inverse = 1.0 / sqrt(dot(squares, vec4(1.0)) / float(p.width) + p.epsilon);
  for (uint c = 0u; c < p.width4; ++c) {
    vec4 normal = (x[at + c] + y[at + c] - mean) * inverse;
    result[at + c] = (normal * affine[c] + affine[p.width4 + c]) * inside(c);
  }
}
