#version 450
#extension GL_GOOGLE_include_directive : require
// Tiles of a weight that is kept as quantised blocks, as the float32 that linear_*.comp read. src/model/quantised_blocks.h has the
// layouts of the blocks, which are ggml's; numbers have the same bits as there.
//   blocks [tile, inner / numbers of a block, bytes of a block, 64 rows]
//   weight [tile, inner, 64 rows]
// A workgroup expands 32 numbers of each of a tile's 64 rows, one lane a row.
#include "params/expand_blocks.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kType = 3u;  // ops::WeightType
layout(push_constant) uniform Push { ExpandBlocksParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer blocks_buffer { uint blocks[]; };
layout(set = 0, binding = 1, std430) writeonly buffer weight_buffer { float weight[]; };
#ifdef EXPERTS
// Tiles of experts without a token stay as they are.
layout(set = 0, binding = 2, std430) readonly buffer routing_buffer { uint routing[]; };
#include "lib/routing.glsl"
#endif

const uint kQ8_0 = 3u, kQ4_0 = 4u, kQ4_K = 5u, kQ5_K = 6u, kQ6_K = 7u, kMXFP4 = 8u;
const uint kBytes = kType == kQ8_0 ? 34u : kType == kQ4_0 ? 18u : kType == kQ4_K ? 144u : kType == kQ5_K ? 176u : kType == kQ6_K ? 210u : 17u;
const uint kParts = kType == kQ4_K || kType == kQ5_K || kType == kQ6_K ? 8u : 1u;  // of 32 numbers in a block

uint first;  // byte of this row's block

uint byte_at(uint byte) {
  uint at = first + byte * 64u;
  return blocks[at / 4u] >> (at % 4u * 8u) & 255u;
}
int signed_at(uint at) { return int(byte_at(at) << 24) >> 24; }

// A float16 by integers: a device's conversion may give 0 for subnormal numbers.
float half_at(uint at) {
  uint bits = byte_at(at) | byte_at(at + 1u) << 8, magnitude = bits & 0x7fffu;
  uint wide = (magnitude << 13) + (112u << 23);
  if (magnitude >= 0x7c00u) wide += 112u << 23;
  if (magnitude < 0x400u) wide = floatBitsToUint(float(magnitude) * 5.9604644775390625e-8);
  return uintBitsToFloat(wide | (bits & 0x8000u) << 16);
}

// Twice a number of FP4 (E2M1).
float fp4(uint code) {
  uint exponent = code >> 1 & 3u, fraction = code & 1u;
  float whole = float(exponent == 0u ? fraction : (2u + fraction) << (exponent - 1u));
  return code > 8u ? -whole : whole;
}

// Scale and minimum number `group` of Q4_K and Q5_K, six bits each, in twelve bytes from byte 4 on.
uvec2 six_bits(uint group) {
  if (group < 4u) return uvec2(byte_at(4u + group), byte_at(8u + group)) & 63u;
  uint both = byte_at(8u + group);
  return uvec2(both & 15u, both >> 4) | (uvec2(byte_at(group), byte_at(4u + group)) >> 6 << 4);
}

void main() {
  uint row = gl_LocalInvocationID.x, group = gl_WorkGroupID.x, tile = gl_WorkGroupID.y;
#ifdef EXPERTS
  uint expert = (p.first_tile + tile) / p.expert_tiles;
  if (expert_begin(expert) == expert_begin(expert + 1u)) return;
#endif
  uint part = group % kParts, in_row = p.inner / (32u * kParts);
  first = p.first_byte + (tile * in_row + group / kParts) * 64u * kBytes + row;
  uint to = (tile * p.inner + group * 32u) * 64u + row;
  precise float scale = 1.0, least = 0.0, upper_scale = 1.0;  // of numbers 0 … 15 and, where they differ, 16 … 31
  if (kType == kQ8_0 || kType == kQ4_0) {
    scale = half_at(0u);
  } else if (kType == kMXFP4) {
    uint exponent = byte_at(0u);
    scale = uintBitsToFloat(exponent < 2u ? 0x00200000u << exponent : (exponent - 1u) << 23);
  } else if (kType == kQ6_K) {
    uint scales = 192u + part / 4u * 8u + part % 4u * 2u;
    scale = half_at(208u);
    upper_scale = scale * float(signed_at(scales + 1u));
    scale *= float(signed_at(scales));
  } else {
    uvec2 codes = six_bits(part);
    scale = half_at(0u) * float(codes.x);
    least = half_at(2u) * float(codes.y);
  }
  for (uint i = 0u; i < 32u; ++i) {
    precise float number = 0.0;
    if (kType == kQ8_0) {
      number = scale * float(signed_at(2u + i));
    } else if (kType == kQ4_0 || kType == kMXFP4) {
      uint code = byte_at((kType == kQ4_0 ? 2u : 1u) + i % 16u) >> (i / 16u * 4u) & 15u;
      number = scale * (kType == kQ4_0 ? float(int(code) - 8) : fp4(code));
    } else if (kType == kQ6_K) {
      uint low = byte_at(part / 4u * 64u + part % 2u * 32u + i) >> (part % 4u / 2u * 4u) & 15u;
      uint high = byte_at(128u + part / 4u * 32u + i) >> (part % 4u * 2u) & 3u;
      number = (i < 16u ? scale : upper_scale) * float(int(low | high << 4) - 32);
    } else {
      uint code = byte_at((kType == kQ4_K ? 16u : 48u) + part / 2u * 32u + i) >> (part % 2u * 4u) & 15u;
      if (kType == kQ5_K) code |= (byte_at(16u + i) >> part & 1u) << 4;
      precise float product = scale * float(code);
      number = product - least;
    }
    weight[to + i * 64u] = number;
  }
}
