// Bindings of the kernels that go from Q, K and V to the merged output in one pass.
VEC4_INPUT(0, q);
VEC4_INPUT(1, k);
VEC4_INPUT(2, v);
layout(set = 0, binding = 3, std430) readonly buffer mask_buffer { uint mask_words[]; };
layout(set = 0, binding = 4, std430) writeonly buffer merged_buffer { vec4 merged[]; };
layout(set = 0, binding = 5, std430) writeonly buffer stats_buffer { vec2 stats[]; };
#define MASK_WORDS(index) mask_words[index]
#include "lib/mask.glsl"
#include "lib/score.glsl"
#include "lib/mean_value.glsl"
