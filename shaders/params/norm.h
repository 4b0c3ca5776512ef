// Parameters of norm.comp. Strides count vec4.
struct NormParameters {
  uint rows;       // items · heads · tokens
  uint tokens;     // of each head that are computed …
  uint first;      // … from this one on
  uint out_first;  // their first row in the result
  uint heads;
  uint capacity;  // capacity in tokens of a head of x and y
  uint out_capacity;
  uint width;    // of a row, floats
  uint width4;   // rounded up to 4, /4
  uint stride4;  // from one batch item of x and y to the next
  uint out_stride4;
  uint adds;            // 0: norm(x); 1: norm(x + y); 2: y + norm(x)
  uint pieces;          // of a row, each of `width` numbers and the next head's: 1, or all heads of a token
  uint affine_stride4;  // from one head's weights to the next head's; 0: all have the same
  uint is_rms;          // 1: RMSNorm
  float epsilon;
  float clip;  // the norm is cut to ±clip; 0: not
};
