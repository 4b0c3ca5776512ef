#ifndef LIB_SINE
#define LIB_SINE
// sin and cos to the last digit or two, up to kMostAngle (attention/expression_tree.h) and of that number beyond. Those of
// Vulkan may be wrong by 2^-11 between -π and π, and elsewhere by anything. Needs lib/nan.glsl.

// The sine of x plus this many quarter turns.
float sine_of_quarters(float x, int quarters) {
  if (is_nan(x)) return x;
  precise float angle = clamp(x, -1048576.0, 1048576.0);
  precise float turns = roundEven(angle * 0.63661977);
  // turns · π/2 is subtracted in parts whose products float32 holds: π/2 has 12 bits in its first two, turns in each of both.
  precise float coarse = roundEven(turns * 2.44140625e-4) * 4096.0;
  precise float fine = turns - coarse;
  precise float rest = angle - coarse * 1.57080078125;
  rest -= fine * 1.57080078125;
  rest += coarse * 4.453584551811218e-06;
  rest += fine * 4.453584551811218e-06;
  rest += turns * 8.7055157e-10;
  quarters += int(turns);
  precise float square = rest * rest;
  precise float sine = rest + rest * square * (-1.6666654611e-1 + square * (8.3321608736e-3 - square * 1.9515295891e-4));
  precise float cosine = 1.0 - 0.5 * square +
      square * square * (4.166664568298827e-2 + square * (-1.388731625493765e-3 + square * 2.443315711809948e-5));
  precise float magnitude = (quarters & 1) != 0 ? cosine : sine;
  return (quarters & 2) != 0 ? -magnitude : magnitude;
}

float exact_sin(float x) { return sine_of_quarters(x, 0); }
float exact_cos(float x) { return sine_of_quarters(x, 1); }
#endif
