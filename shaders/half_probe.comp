#version 450
#extension GL_GOOGLE_include_directive : require
// Bits of four float16 as float32, as the device's two conversions give them: a device may give 0 for subnormal numbers.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0, std430) readonly buffer halves_buffer { uvec2 halves[]; };     // [1]
layout(set = 0, binding = 1) uniform samplerBuffer texels;                                  // [1], the same memory
layout(set = 0, binding = 2, std430) writeonly buffer result_buffer { uvec4 result[]; };    // [unpackHalf2x16, texel]

void main() {
  uvec2 words = halves[0];
  result[0] = floatBitsToUint(vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)));
  result[1] = floatBitsToUint(texelFetch(texels, 0));
}
