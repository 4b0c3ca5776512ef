#ifndef LIB_TANH
#define LIB_TANH
// tanh without overflow for large arguments and without cancellation for small ones. NaN stays NaN, unlike with clamp alone.
// Needs lib/nan.glsl.
float safe_tanh(float x) {
  if (is_nan(x)) return x;
  float square = x * x;
  if (square < 0.01) return x * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 - square * 17.0 / 315.0)));
  return 1.0 - 2.0 / (exp(2.0 * clamp(x, -20.0, 20.0)) + 1.0);
}
#endif
