// The same kernel reads its operands through texel buffers (TEXEL=1) or storage buffers: on llvmpipe of Mesa 22 a texel fetch
// costs a third of a storage load, on Mesa 25 and on GPUs the storage load is cheaper. The device's tuning decides.
#ifdef TEXEL
#define VEC4_INPUT(slot, name) layout(set = 0, binding = slot) uniform samplerBuffer name
#define LOAD(name, index) texelFetch(name, int(index))
#else
#define VEC4_INPUT(slot, name) \
  layout(set = 0, binding = slot, std430) readonly buffer name##_buffer { vec4 name##_values[]; } name##_block
#define LOAD(name, index) name##_block.name##_values[index]
#endif

// Weights may be stored as float16: texel buffers convert them, for storage buffers (HALF=1) the kernel does.
#if defined(HALF) && !defined(TEXEL)
#define WEIGHT_INPUT(slot, name) \
  layout(set = 0, binding = slot, std430) readonly buffer name##_buffer { uvec2 name##_values[]; } name##_block
vec4 from_halves(uvec2 words) { return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y)); }
#define LOAD_WEIGHT(name, index) from_halves(name##_block.name##_values[index])
#else
#define WEIGHT_INPUT(slot, name) VEC4_INPUT(slot, name)
#define LOAD_WEIGHT(name, index) LOAD(name, index)
#endif
