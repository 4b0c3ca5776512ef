// q·k of four numbers more, in their order. Needs the constant kRoundsProducts: the program's own attention on a processor
// (ops/host_operations.h) rounds products before it adds them, and some drivers for processors don't in fma(). Where only kernels compute,
// all of them use fma().
float score_sum(float sum, vec4 q, vec4 k) {
  if (!kRoundsProducts) return fma(q.w, k.w, fma(q.z, k.z, fma(q.y, k.y, fma(q.x, k.x, sum))));
  precise vec4 products = q * k;
  precise float rounded = (((sum + products.x) + products.y) + products.z) + products.w;
  return rounded;
}
