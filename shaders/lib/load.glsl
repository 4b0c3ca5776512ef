// A kernel reads its operands through texel buffers (TEXEL=1) or storage buffers: on llvmpipe of Mesa 22 a texel fetch
// costs a third of a storage load, on Mesa 25 and on GPUs the storage load is cheaper. The device's tuning decides.
#ifdef TEXEL
#define VEC4_INPUT(slot, name) layout(set = 0, binding = slot) uniform samplerBuffer name
#define LOAD(name, index) texelFetch(name, int(index))
#else
#define VEC4_INPUT(slot, name) \
  layout(set = 0, binding = slot, std430) readonly buffer name##_buffer { vec4 name##_values[]; } name##_block
#define LOAD(name, index) name##_block.name##_values[index]
#endif

// Weights may be stored as float16 (HALF=1), which texel buffers convert, or as bfloat16 (BFLOAT=1), the upper half of a float's
// bits. In storage buffers the kernel converts them. Where unpackHalf2x16 gives 0 for subnormal numbers (ops/half_probe.h), it
// does so by integers (kHalfBits).
#if defined(HALF) || defined(BFLOAT)
#define WEIGHT_INPUT(slot, name) \
  layout(set = 0, binding = slot, std430) readonly buffer name##_buffer { uvec2 name##_values[]; } name##_block
#define LOAD_WEIGHT(name, index) from_words(name##_block.name##_values[index])
#else
#define WEIGHT_INPUT(slot, name) VEC4_INPUT(slot, name)
#define LOAD_WEIGHT(name, index) LOAD(name, index)
#endif

#ifdef BFLOAT
vec4 from_words(uvec2 words) {
  return uintBitsToFloat(uvec4(words.x << 16, words.x & 0xffff0000u, words.y << 16, words.y & 0xffff0000u));
}
#endif

#ifdef HALF
layout(constant_id = 3) const uint kHalfBits = 0u;

// Exponents of normal numbers, and again those of infinities and NaN, are 112 larger as float32. Subnormal numbers are
// multiples of 2^-24, and no longer subnormal.
vec2 from_half_bits(uint word) {
  uvec2 half_bits = uvec2(word, word >> 16), magnitude = half_bits & 0x7fffu, more = uvec2(112u << 23);
  uvec2 bits = (magnitude << 13) + more;
  bits = mix(bits, bits + more, greaterThanEqual(magnitude, uvec2(0x7c00u)));
  bits = mix(bits, floatBitsToUint(vec2(magnitude) * 5.9604644775390625e-8), lessThan(magnitude, uvec2(0x400u)));
  return uintBitsToFloat(bits | (half_bits & 0x8000u) << 16);
}
vec4 from_words(uvec2 words) {
  if (kHalfBits != 0u) return vec4(from_half_bits(words.x), from_half_bits(words.y));
  return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
}
#endif
