// The choice of the numbers that dropout drops: a hash of the number's place (attention/dropout.h, whose functions
// these are).
uint dropout_mix(uint h) {
  h ^= h >> 16u;
  h *= 0x7feb352du;
  h ^= h >> 15u;
  h *= 0x846ca68bu;
  return h ^ h >> 16u;
}

uint dropout_fold(uint h, uint x) { return dropout_mix(h + 0x9e3779b9u * (x + 1u)); }
