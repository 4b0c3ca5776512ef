// The output of row i, which attends to all keys alike. Needs VEC4_INPUT v; with dropout lib/mask.glsl.
vec4 mean_value(uint item, uint head, uint column4, uint i) {
  uint at = v_at(item, head, 0u) + column4;
  vec4 sum = vec4(0.0);
  // Four keys per iteration: llvmpipe allows 65,535 iterations.
  for (uint j = 0u; j < p.keys; j += 4u) {
    [[unroll]] for (uint step = 0u; step < 4u; ++step) {
      if (j + step >= p.keys) continue;
#ifdef EXPRESSIONS
      float weight = kept_weight(1.0, p.mask.expressions_at, p.first_item + item, head, i, j + step);
#else
      const float weight = 1.0;
#endif
      sum += weight * LOAD(v, at + (j + step) * p.d_v4);
    }
  }
  return sum / float(p.keys);
}
