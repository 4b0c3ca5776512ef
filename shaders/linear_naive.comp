#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// y[m, n] = Σ_k x[m, k] · W[n, k] + b[n], one lane per four outputs, nothing reused. The simple reference that the fast
// kernels are checked and measured against.
layout(local_size_x = 16) in;  // the tile's 16 vec4 columns
#include "lib/load.glsl"
layout(set = 0, binding = 0, std430) readonly buffer x_buffer { float x[]; };
#if defined(HALF) || defined(BFLOAT)
WEIGHT_INPUT(1, weight);
#else
layout(set = 0, binding = 1, std430) readonly buffer weight_buffer { float weight[]; };
#endif
#include "lib/linear.glsl"

void main() {
  uint column4 = gl_LocalInvocationID.x;
  uint tile = gl_WorkGroupID.y;
  uint row = gl_WorkGroupID.x;
  uint x_at = x_row(row) * 4u;
  vec4 sum = vec4(0.0);
  for (uint c = 0u; c < 4u; ++c) {
    float dot_product = 0.0;
    for (uint i = 0u; i < p.inner4 * 4u; ++i) {
#if defined(HALF) || defined(BFLOAT)
      dot_product += x[x_at + i] * LOAD_WEIGHT(weight, (tile * p.inner4 * 4u + i) * 16u + column4)[c];
#else
      dot_product += x[x_at + i] * weight[(tile * p.inner4 * 4u + i) * 64u + column4 * 4u + c];
#endif
    }
    sum[c] = dot_product;
  }
  store(row, p.first_tile + tile, column4, sum);
}
