// Activations by their numbers in ops::Activation. Needs no inputs of its own.
const uint kNone = 0u, kRelu = 1u, kGelu = 2u, kGeluTanh = 3u, kSilu = 4u, kRelu2 = 5u, kQuickGelu = 6u;

#include "lib/nan.glsl"
#include "lib/tanh.glsl"

// erfc by its Chebyshev fit (Numerical Recipes, §6.2), relative error below 1.2e-7 everywhere.
float complementary_error(float x) {
  float z = abs(x);
  float t = 1.0 / (1.0 + 0.5 * z);
  float polynomial = 1.48851587 + t * (-0.82215223 + t * 0.17087277);
  polynomial = 0.27886807 + t * (-1.13520398 + t * polynomial);
  polynomial = 0.09678418 + t * (-0.18628806 + t * polynomial);
  polynomial = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * polynomial));
  float tail = t * exp(-z * z + polynomial);
  return x >= 0.0 ? tail : 2.0 - tail;
}

float activate(uint activation, float x) {
  if (activation == kRelu) return x >= 0.0 || is_nan(x) ? x : 0.0;  // max would replace NaN by 0
  if (activation == kGelu) return 0.5 * x * complementary_error(-x * 0.70710678118654752);
  if (activation == kGeluTanh) return 0.5 * x * (1.0 + safe_tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
  if (activation == kRelu2) return x >= 0.0 || is_nan(x) ? x * x : 0.0;
  if (activation == kSilu) return x / (1.0 + exp(-x));
  if (activation == kQuickGelu) return x / (1.0 + exp(-1.702 * x));
  return x;
}
