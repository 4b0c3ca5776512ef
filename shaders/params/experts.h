// Parameters of experts_route.comp, experts_group.comp and experts_sum.comp. Rows are `tokens` of each batch item. Strides
// count vec4.
struct ExpertsParameters {
  uint rows;
  uint tokens;  // of one batch item that are computed …
  uint first;   // … from this one on
  uint experts;
  uint slots;        // experts that a token is given to
  uint pairs;        // rows · slots
  uint sums_to_one;  // 1: gates are the softmax over the chosen experts; 0: over all
  uint stride4;      // of logits and gates, from one batch item to the next
  uint width4;       // of a row of the experts' results
  uint y_stride4;    // of y and the shared expert's result
  uint shared_kind;  // 0: there is no shared expert; 1: its result is added; 2: times σ(its gate)
  uint gate_stride4;
};
