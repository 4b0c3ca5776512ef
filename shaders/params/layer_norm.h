// Parameters of add_layer_norm.comp. Strides count vec4.
struct LayerNormParameters {
  uint rows;
  uint tokens;
  uint width;    // d_model, floats
  uint width4;   // rounded up to 4, /4
  uint stride4;  // from one batch item to the next, of x, y and the result alike
  float epsilon;
};
