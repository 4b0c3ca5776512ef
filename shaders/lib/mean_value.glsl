// The output of a row that attends to all keys alike. Needs VEC4_INPUT v.
vec4 mean_value(uint item, uint head, uint column4) {
  uint at = v_at(item, head, 0u) + column4;
  vec4 sum = vec4(0.0);
  // Four keys per iteration: llvmpipe allows 65,535 iterations.
  for (uint j = 0u; j < p.keys; j += 4u) {
    [[unroll]] for (uint step = 0u; step < 4u; ++step) {
      if (j + step < p.keys) sum += LOAD(v, at + (j + step) * p.d_v4);
    }
  }
  return sum / float(p.keys);
}
