// The tokens that each expert gets: routing holds [choice of each pair | gate of each pair | where each expert's pairs
// begin, and their end | the pairs in the order of their experts], a pair being token · slots + slot. Needs `routing`
// and p.pairs, p.experts.
uint expert_begin(uint expert) { return routing[2u * p.pairs + expert]; }
uint pair_at(uint row) { return routing[2u * p.pairs + p.experts + 1u + row]; }

// Workgroups of so many rows: each expert has one more than its rows can fill, which makes its first one's number known
// without a sum over the experts before it.
uint first_group(uint expert, uint rows_at_once) { return expert_begin(expert) / rows_at_once + expert; }

uint expert_of_group(uint group, uint rows_at_once) {
  uint low = 0u, high = p.experts;
  for (uint step = 0u; step < 16u && high - low > 1u; ++step) {
    uint middle = (low + high) / 2u;
    if (first_group(middle, rows_at_once) <= group) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}
