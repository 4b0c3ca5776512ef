#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// The end of an attention whose keys were split among workgroups (attention_tiled.comp): each part has, for a row, the largest
// score m, l = Σ exp(score − m) and Σ exp(score − m) · v of its keys. Relative to the largest of all, these are added. A workgroup
// computes 16 vec4 columns of 4 rows.
layout(local_size_x = 64) in;
#include "lib/load.glsl"
#include "lib/attention.glsl"
VEC4_INPUT(0, part_sums);                                                                  // [part, map, row, d_v4]
layout(set = 0, binding = 1, std430) readonly buffer part_buffer { vec2 part_stats[]; };  // [part, map, row] (m, l)
VEC4_INPUT(2, v);
layout(set = 0, binding = 4, std430) writeonly buffer merged_buffer { vec4 merged[]; };
layout(set = 0, binding = 5, std430) writeonly buffer stats_buffer { vec2 stats[]; };
#include "lib/mean_value.glsl"

void main() {
  uint row = gl_WorkGroupID.x * 4u + gl_LocalInvocationID.x / 16u, i = p.block_row + row;
  uint item = gl_WorkGroupID.y / p.heads, head = gl_WorkGroupID.y % p.heads;
  uint column4 = gl_WorkGroupID.z * 16u + gl_LocalInvocationID.x % 16u;
  if (i >= p.queries) return;
  uint step = gl_NumWorkGroups.y * p.block_rows, at = gl_WorkGroupID.y * p.block_rows + row;
  float m = part_stats[at].x;
  for (uint part = 1u; part < p.parts; ++part) m = max(m, part_stats[part * step + at].x);
  float l = 0.0;
  vec4 sum = vec4(0.0);
  for (uint part = 0u; part < p.parts; ++part) {
    vec2 ml = part_stats[part * step + at];
    float factor = exp(ml.x - m);
    l += ml.y * factor;
    if (column4 < p.d_v4) sum += LOAD(part_sums, (part * step + at) * p.d_v4 + column4) * factor;
  }
  vec2 ml = row_stats(m, l);
  if (column4 == 0u) stats[stats_at(item, head, i)] = ml;
  if (column4 >= p.d_v4) return;
  float inverse = l == 0.0 ? 0.0 : 1.0 / ml.y;
  merged[merged_at(item, head, i) + column4] = is_uniform(ml) ? mean_value(item, head, column4, i) : sum * inverse;
}
