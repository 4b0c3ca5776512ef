#version 450
#extension GL_GOOGLE_include_directive : require
// The experts of each token: those with the largest logits, of equal ones the lower number, and their gates
//   gate_e = exp(logit_e − m) / Σ exp(logit − m), the sum over all experts or over the chosen ones.
//   logits [item, token, expert], gates likewise, 0 for the others; rows of both are padded to vec4
//   routing: choices and gates of pairs (lib/routing.glsl), in the order in which they were chosen
// A workgroup has one token. Whatever the logits are, NaN too, as many different experts are chosen.
#include "params/experts.h"

layout(local_size_x = 64) in;
layout(push_constant) uniform Push { ExpertsParameters p; };
layout(set = 0, binding = 0, std430) readonly buffer logits_buffer { float logits[]; };
layout(set = 0, binding = 1, std430) writeonly buffer gates_buffer { float gates[]; };
layout(set = 0, binding = 2, std430) writeonly buffer routing_buffer { uint routing[]; };

const uint kLanes = 64u, kNone = 0xffffffffu, kMostSlots = 64u;
shared float values[kLanes];
shared uint indices[kLanes];
shared float chosen_logit[kMostSlots];
shared uint chosen[kMostSlots];

uint lane = gl_LocalInvocationID.x;

bool is_better(float value, uint index, float than, uint than_index) {
  if (index == kNone) return false;
  return than_index == kNone || value > than || (value == than && index < than_index);
}

float sum_of_lanes(float part) {
  values[lane] = part;
  barrier();
  for (uint half_lanes = kLanes / 2u; half_lanes > 0u; half_lanes /= 2u) {
    if (lane < half_lanes) values[lane] += values[lane + half_lanes];
    barrier();
  }
  float sum = values[0];
  barrier();
  return sum;
}

// The best expert that isn't taken; `taken` has a bit for each of the lane's own.
void choose(uint at, uint slot, inout uint taken) {
  float best = 0.0;
  uint best_index = kNone;
  for (uint index = lane, bit = 0u; index < p.experts; index += kLanes, ++bit) {
    if ((taken >> bit & 1u) == 0u && is_better(logits[at + index], index, best, best_index)) {
      best = logits[at + index];
      best_index = index;
    }
  }
  values[lane] = best;
  indices[lane] = best_index;
  barrier();
  for (uint half_lanes = kLanes / 2u; half_lanes > 0u; half_lanes /= 2u) {
    uint other = lane + half_lanes;
    if (lane < half_lanes && is_better(values[other], indices[other], values[lane], indices[lane])) {
      values[lane] = values[other];
      indices[lane] = indices[other];
    }
    barrier();
  }
  if (lane == 0u) {
    chosen_logit[slot] = values[0];
    chosen[slot] = indices[0];
  }
  if (indices[0] % kLanes == lane) taken |= 1u << indices[0] / kLanes;
  barrier();
}

void main() {
  uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;  // rows beyond one axis' limit continue along y
  if (row >= p.rows) return;
  uint at = (row / p.tokens * p.stride4 + (p.first + row % p.tokens) * ((p.experts + 3u) / 4u)) * 4u;
  uint taken = 0u;
  for (uint slot = 0u; slot < p.slots; ++slot) choose(at, slot, taken);
  float most = chosen_logit[0], part = 0.0;
  if (p.sums_to_one == 1u) {
    part = lane < p.slots ? exp(chosen_logit[lane] - most) : 0.0;
  } else {
    for (uint index = lane; index < p.experts; index += kLanes) part += exp(logits[at + index] - most);
  }
  float sum = sum_of_lanes(part);
  for (uint index = lane, bit = 0u; index < p.experts; index += kLanes, ++bit) {
    gates[at + index] = (taken >> bit & 1u) == 1u ? exp(logits[at + index] - most) / sum : 0.0;
  }
  if (lane < p.slots) {
    uint pair = row * p.slots + lane;
    routing[pair] = chosen[lane];
    routing[p.pairs + pair] = floatBitsToUint(exp(chosen_logit[lane] - most) / sum);
  }
}
