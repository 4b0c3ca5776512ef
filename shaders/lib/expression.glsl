// Expressions that the user typed (attention/expression.h), as functions that attention/expression_glsl.cpp writes into
// "expressions.glsl" at run time:
//   bool expression_shows(uint at, uint item, uint head, uint query, uint key)
//   float expression_score(float score, uint at, uint item, uint head, uint query, uint key)
// Results that GLSL leaves undefined are defined here as attention/expression.h says. Needs lib/nan.glsl and MASK_WORDS.
//   words at `at`:  layer | layers | heads | n_q | n_k | where [item, token] ids, types and segments of queries and keys begin:
//                   id q | id k | type q | type k | segment q | segment k (0: all are 0) | where painted numbers and documents begin
//                   (lib/paint.glsl; 0: there are none) | where dropout begins (0: there is none) | sliders of the mask | of the score
#include "lib/sine.glsl"
#include "lib/tanh.glsl"

int expression_token(uint at, uint field, uint count_field, uint item, uint token) {
  uint from = MASK_WORDS(at + field), count = MASK_WORDS(at + count_field);
  if (from == 0u) return 0;
  return int(MASK_WORDS(from + item * count + min(token, count - 1u)));  // kernels compute cells beyond the last token and drop them
}

int expression_divide(int a, int b) {
  if (b == 0) return 0;
  return b == -1 ? -a : a / b;
}
uint expression_divide(uint a, uint b) { return b == 0u ? 0u : a / b; }
float expression_divide(float a, float b) { return b == 0.0 ? 0.0 : a / b; }

uint expression_modulo(uint a, uint b) { return b == 0u ? 0u : a % b; }
int expression_modulo(int a, int b) {
  // The remainder is computed of magnitudes: the result of % for negative numbers is undefined.
  int rest = int(expression_modulo(uint(a < 0 ? -a : a), uint(b < 0 ? -b : b)));
  if (a < 0) rest = -rest;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
float expression_modulo(float a, float b) { return b == 0.0 ? 0.0 : a - b * floor(a / b); }

int expression_int(float x) { return is_nan(x) ? 0 : int(clamp(x, -2147483520.0, 2147483520.0)); }
uint expression_uint(float x) { return is_nan(x) ? 0u : uint(clamp(x, 0.0, 4294967040.0)); }

float expression_exp(float x) { return exp(clamp(x, -87.0, 88.0)); }
float expression_exp2(float x) { return exp2(clamp(x, -126.0, 127.0)); }
float expression_log(float x) { return log(max(x, 1.2e-38)); }
float expression_log2(float x) { return log2(max(x, 1.2e-38)); }
float expression_power(float x, float y) {
  if (!(x > 0.0)) return y == 0.0 ? 1.0 : 0.0;
  return exp2(clamp(y * log2(x), -126.0, 127.0));
}

float expression_bounded(float score) { return is_nan(score) ? score : clamp(score, -1e30, 1e30); }

#include "expressions.glsl"
