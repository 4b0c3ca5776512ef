#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// For lib/matrix_product.glsl: of each row of x, the power of two that brings its largest number to 2^14 … 2^15; 1 where that isn't
// finite. A workgroup takes four rows, 32 lanes each.
layout(local_size_x = 128) in;
#include "lib/load.glsl"
#include "params/linear.h"
VEC4_INPUT(0, x);
layout(set = 0, binding = 1, std430) writeonly buffer scale_buffer { float scales[]; };
layout(push_constant) uniform Push { LinearParameters p; };

const uint kLanesOfRow = 32u;
shared uint largest[4u * kLanesOfRow];

void main() {
  uint thread = gl_LocalInvocationID.x, row = gl_WorkGroupID.x * 4u + thread / kLanesOfRow;
  uint from = min(row, p.rows - 1u), at = from / p.tokens * p.x_stride4 + (p.x_first + from % p.tokens) * p.inner4;
  uint most = 0u;  // bits of |x|: their order is the numbers', and a NaN is above all
  [[dont_unroll]] for (uint i4 = thread % kLanesOfRow; i4 < p.inner4; i4 += kLanesOfRow) {
    uvec4 bits = floatBitsToUint(LOAD(x, at + i4)) & 0x7fffffffu;
    most = max(most, max(max(bits.x, bits.y), max(bits.z, bits.w)));
  }
  largest[thread] = most;
  barrier();
  if (thread % kLanesOfRow != 0u || row >= p.rows) return;
  [[dont_unroll]] for (uint i = 1u; i < kLanesOfRow; ++i) most = max(most, largest[thread + i]);
  uint exponent = max(most >> 23, 27u);
  scales[row] = exponent >= 255u ? 1.0 : uintBitsToFloat((268u - exponent) << 23);
}
