#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// result = norm(x), norm(x + y) or y + norm(x) over the last axis: torch.nn.LayerNorm, or torch.nn.RMSNorm, which neither subtracts the mean
// nor divides by the variance around it. Two passes for the variance, so that large means don't cancel it. x, y and result are
// [item, head, token, width4] vec4; only some tokens of each item are computed.
// On CPUs each of 8 lanes has its own row; on GPUs the 64 lanes of a workgroup share one and keep the first 1,024 numbers of it, so
// that they are read once.
// Arrays have the larger kernel's sizes: Metal knows none that a constant decides.
layout(local_size_x = 8, local_size_x_id = 0) in;
layout(constant_id = 0) const uint kLanes = 8u;
const bool kSharesRow = kLanes > 8u;
#include "lib/load.glsl"
#include "lib/nan.glsl"
#include "params/norm.h"

layout(push_constant) uniform Push { NormParameters p; };
VEC4_INPUT(0, x);
VEC4_INPUT(1, y);
layout(set = 0, binding = 2, std430) readonly buffer affine_buffer { vec4 affine[]; };  // [head, 2, row4()]: weight, then bias
layout(set = 0, binding = 3, std430) writeonly buffer result_buffer { vec4 result[]; };

const uint kRowLanes = kSharesRow ? kLanes : 1u;
const uint kMostKept = 4u;
const uint kKept = kSharesRow ? kMostKept : 0u;  // vec4 of a lane
shared float parts[64];

float whole_row(float part) {
  if (!kSharesRow) return part;
  uint lane = gl_LocalInvocationID.x;
  parts[lane] = part;
  barrier();
  for (uint half_lanes = kRowLanes / 2u; half_lanes > 0u; half_lanes /= 2u) {
    if (lane < half_lanes) parts[lane] += parts[lane + half_lanes];
    barrier();
  }
  float sum = parts[0];
  barrier();
  return sum;
}

uint row4() { return p.pieces * p.width4; }

// Returns the place of a row's vec4 number c in a tensor whose heads have so many tokens: the pieces of a row are of
// consecutive heads.
uint place(uint c, uint tokens) { return p.pieces == 1u ? c : c / p.width4 * tokens * p.width4 + c % p.width4; }

// 1 for the components of column4 that exist, 0 for the padding and after the row's end.
vec4 inside(uint column4) {
  uint c = p.pieces == 1u || column4 >= row4() ? column4 : column4 % p.width4;
  return vec4(lessThan(uvec4(c * 4u) + uvec4(0u, 1u, 2u, 3u), uvec4(p.width)));
}

vec4 input_at(uint row_at, uint c) {
  uint at = row_at + place(c, p.capacity);
  return p.adds == 1u ? LOAD(x, at) + LOAD(y, at) : LOAD(x, at);
}

vec4 square(vec4 centred, uint column4) {
  vec4 counted = centred * inside(column4);
  return counted * counted;
}

void store(uint in_at, uint out_at, uint affine_at, uint c, vec4 normal) {
  normal = (normal * affine[affine_at + c] + affine[affine_at + row4() + c]) * inside(c);
  if (p.clip > 0.0) normal = mix(clamp(normal, -p.clip, p.clip), normal, bvec4(is_nan(normal.x), is_nan(normal.y), is_nan(normal.z), is_nan(normal.w)));
  result[out_at + place(c, p.out_capacity)] = p.adds == 2u ? LOAD(y, in_at + place(c, p.capacity)) + normal : normal;
}

void main() {
  uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // rows beyond one axis' limit continue along y
  uint row = kSharesRow ? group : group * kLanes + gl_LocalInvocationID.x;
  uint lane = kSharesRow ? gl_LocalInvocationID.x : 0u;
  if (row >= p.rows) return;  // whole workgroups where they share a row
  uint map = row / p.tokens, token = row % p.tokens;
  uint in_item = map / p.heads * p.stride4 + map % p.heads * p.capacity * p.width4;
  uint in_at = in_item + (p.first + token) * p.width4;
  uint out_at = map / p.heads * p.out_stride4 + (map % p.heads * p.out_capacity + p.out_first + token) * p.width4;
  uint affine_at = map % p.heads * p.affine_stride4, count4 = row4();
  float count = float(p.width * p.pieces);
  vec4 kept[kMostKept];
  [[unroll]] for (uint n = 0u; n < kKept; ++n) {
    uint c = lane + n * kRowLanes;
    kept[n] = c < count4 ? input_at(in_at, c) : vec4(0.0);
  }
  const uint kRest = kKept * kRowLanes;  // first number that isn't kept
  float mean = 0.0;
  if (p.is_rms == 0u) {
    vec4 total = vec4(0.0);
    [[unroll]] for (uint n = 0u; n < kKept; ++n) total += kept[n];
    for (uint c = lane + kRest; c < count4; c += kRowLanes) total += input_at(in_at, c);  // padding holds zeros
    mean = whole_row(dot(total, vec4(1.0))) / count;
  }
  vec4 squares = vec4(0.0);
  [[unroll]] for (uint n = 0u; n < kKept; ++n) squares += square(kept[n] - mean, lane + n * kRowLanes);
  for (uint c = lane + kRest; c < count4; c += kRowLanes) squares += square(input_at(in_at, c) - mean, c);
  float inverse = 1.0 / sqrt(whole_row(dot(squares, vec4(1.0))) / count + p.epsilon);
  [[unroll]] for (uint n = 0u; n < kKept; ++n) {
    uint c = lane + n * kRowLanes;
    if (c < count4) store(in_at, out_at, affine_at, c, (kept[n] - mean) * inverse);
  }
  for (uint c = lane + kRest; c < count4; c += kRowLanes) {
    store(in_at, out_at, affine_at, c, (input_at(in_at, c) - mean) * inverse);
  }
}
