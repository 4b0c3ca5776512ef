#version 450
#extension GL_GOOGLE_include_directive : require
// Pairs of tokens and experts in the order of their experts, and of their numbers within one (lib/routing.glsl). A workgroup
// has one expert: it counts the pairs of experts before it, and places its own after them.
#include "params/experts.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { ExpertsParameters p; };
layout(set = 0, binding = 0, std430) buffer routing_buffer { uint routing[]; };

const uint kLanes = 64u;
shared uvec2 counts[kLanes];

void main() {
  uint lane = gl_LocalInvocationID.x, expert = gl_WorkGroupID.x;
  uint begins = 2u * p.pairs, order = begins + p.experts + 1u;
  uvec2 count = uvec2(0u);  // of experts before this one, and of this one
  for (uint pair = lane; pair < p.pairs; pair += kLanes) {
    uint choice = routing[pair];
    count += uvec2(choice < expert ? 1u : 0u, choice == expert ? 1u : 0u);
  }
  counts[lane] = count;
  barrier();
  for (uint half_lanes = kLanes / 2u; half_lanes > 0u; half_lanes /= 2u) {
    if (lane < half_lanes) counts[lane] += counts[lane + half_lanes];
    barrier();
  }
  uint to = counts[0].x;
  bool is_chosen = counts[0].y > 0u;
  barrier();
  if (lane == 0u) routing[begins + expert] = to;
  if (lane == 0u && expert + 1u == p.experts) routing[begins + p.experts] = p.pairs;
  if (!is_chosen) return;
  for (uint first = 0u; first < p.pairs; first += kLanes) {
    uint pair = first + lane;
    bool is_mine = pair < p.pairs && routing[min(pair, p.pairs - 1u)] == expert;
    counts[lane].x = is_mine ? 1u : 0u;
    barrier();
    uint before = 0u, all = 0u;
    for (uint other = 0u; other < kLanes; ++other) {
      before += other < lane ? counts[other].x : 0u;
      all += counts[other].x;
    }
    if (is_mine) routing[order + to + before] = pair;
    to += all;
    barrier();
  }
}
