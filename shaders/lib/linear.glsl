// Shared by all linear_*.comp: y = x · Wᵀ + b, stored as a plain matrix or split into the heads of q, k and v.
//   x      [item, token, inner4]            vec4, items x_stride4 apart
//   weight [tile, inner4·4, 16]             vec4: 64 output columns a tile, the row of W for each input column k
//   bias   [tile, 16]                       vec4
//   q [item, head, token, d_k4], k [item, KV head, token, d_k4], v [item, KV head, token, d_v4]   vec4; plain layers have
//   one head as wide as y, and as v the tensor that is multiplied or added, of y's shape
// Workgroups are blocks of rows along x and tiles along y, so that a tile's weights (200 KB at 768 inputs) stay in a
// CPU's cache until all rows have used them.
// A tile belongs to one section: queries, then keys from key_tile, values from value_tile on.
// With EXPERTS rows are pairs of a token and an expert that it was given to, [token, slot] but in the order of their experts
// (lib/routing.glsl), and y is [pair, d_k4]; expert e's weights are the tiles from e · expert_tiles on.
#include "params/linear.h"
#include "lib/activation.glsl"

layout(constant_id = 0) const uint kActivation = 0u;  // ops::Activation; the machine code has only this one
layout(push_constant) uniform Push { LinearParameters p; };
layout(set = 0, binding = 2, std430) readonly buffer bias_buffer { vec4 bias[]; };
layout(set = 0, binding = 3, std430) writeonly buffer q_buffer { vec4 q[]; };
#ifdef EXPERTS
layout(set = 0, binding = 4, std430) buffer v_buffer { vec4 v[]; };
layout(set = 0, binding = 5, std430) readonly buffer routing_buffer { uint routing[]; };
#include "lib/routing.glsl"
#else
layout(set = 0, binding = 4, std430) writeonly buffer k_buffer { vec4 k[]; };
layout(set = 0, binding = 5, std430) buffer v_buffer { vec4 v[]; };
#endif

const uint kTile4 = 16u;  // vec4 columns of a tile

// The part of the result that a workgroup computes: rows [first_row, end_row), kRows of them at most, and a tile of the
// weight's slice.
struct Block {
  uint first_row, end_row, tile;
};

#ifdef EXPERTS
// Index of the first element of row `row` of x. Pairs of a token read the same row where x isn't [pair, inner4].
uint x_row(uint row) {
  uint from = pair_at(row) / p.slots;
  return from / p.tokens * p.x_stride4 + (p.x_first + from % p.tokens) * p.inner4;
}

// False where the workgroup has nothing to do.
bool find_block(uint rows_at_once, uint tile, out Block block) {
  uint expert = expert_of_group(gl_WorkGroupID.x, rows_at_once);
  block.first_row = expert_begin(expert) + (gl_WorkGroupID.x - first_group(expert, rows_at_once)) * rows_at_once;
  block.end_row = min(block.first_row + rows_at_once, expert_begin(expert + 1u));
  block.tile = expert * p.expert_tiles + tile - p.first_tile;  // beyond p.tiles where it is before the slice
  return block.first_row < block.end_row && block.tile < p.tiles;
}
#else
uint x_row(uint row) { return row / p.tokens * p.x_stride4 + (p.x_first + row % p.tokens) * p.inner4; }

bool find_block(uint rows_at_once, uint tile, out Block block) {
  block = Block(gl_WorkGroupID.x * rows_at_once, p.rows, tile);
  return true;
}
#endif

bool clips(uint tile) { return p.clip > 0.0 || (p.clip < 0.0 && tile >= p.value_tile); }

// Adds the bias to four columns of y and stores them in their section. `column4` counts from the tile's first column.
void store(uint row, uint tile, uint column4, vec4 value) {
  value += bias[tile * kTile4 + column4];
  if (kActivation != kNone) {
    [[dont_unroll]] for (uint c = 0u; c < 4u; ++c) value[c] = activate(kActivation, value[c]);
  }
  if (clips(tile)) value = mix(clamp(value, -abs(p.clip), abs(p.clip)), value, bvec4(is_nan(value.x), is_nan(value.y), is_nan(value.z), is_nan(value.w)));
#ifdef EXPERTS
  uint column_at = tile % p.expert_tiles * kTile4 + column4;
  if (column_at >= p.d_k4) return;
  uint pair_column = pair_at(row) * p.d_k4 + column_at;
  q[pair_column] = p.combine == 1u ? value * v[pair_column] : value;
#else
  bool is_value = tile >= p.value_tile, is_query = tile < p.key_tile;
  uint section_tile = is_value ? p.value_tile : (is_query ? 0u : p.key_tile);
  uint slot4 = is_value ? p.d_v4 : p.d_k4;
  uint column = (tile - section_tile) * kTile4 + column4;
  uint head = column / slot4;
  if (head >= (is_query ? p.heads : p.kv_heads)) return;  // padding of the section's last tile
  uint item = row / p.tokens, token = p.y_first + row % p.tokens;
  uint at = (head * (is_query ? p.q_tokens : p.k_tokens) + token) * slot4 + column % slot4;
  if (is_value) {
    v[item * p.v_stride4 + at] = value;
  } else if (is_query) {
    at += item * p.q_stride4;
    if (p.combine != 0u) {
      vec4 other = v[at];
      vec4 combined = p.combine == 1u ? value * other : p.scale * value + other;
      if (p.combine == 3u) {
        k[at] = combined;
      } else {
        value = combined;
      }
    }
    q[at] = value;
  } else {
    k[item * p.k_stride4 + at] = value;
  }
#endif
}
