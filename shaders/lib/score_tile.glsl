// q·k of a tile of cells by a square of lanes, 4 × 4 cells each: 256 lanes take 64 queries × 64 keys, 64 lanes 32 × 32. Slices of Q and K,
// 16 wide, go through shared memory (10 KiB), and the next ones are on their way from memory meanwhile. Needs the constants
// kLanes and kRolled (0: long loops are unrolled), VEC4_INPUT q and k and p.d_k4.
const uint kSide = kLanes >= 256u ? 16u : 8u;    // of the square of lanes
const uint kTileRows = kSide * 4u, kTileKeys = kSide * 4u;
const uint kSlice4 = 4u;                         // vec4 of d_k in a slice
const uint kPitch4 = kSlice4 + 1u;               // the gap spreads what is read together over the banks
const uint kLoads = kTileRows * kSlice4 / kLanes;  // of a lane, from Q and from K, for a slice
const uint kStaging = kLanes / kSlice4;          // rows that are loaded together
shared vec4 staged[2u * kTileRows * kPitch4];    // slices of Q and K [row, vec4]; between tiles free for other use

uint thread = gl_LocalInvocationID.x;
uint tx = thread % kSide, ty = thread / kSide;
float s[16];  // cell (r, j) at 4·r + j: query 4·ty + r, key j · kSide + tx of the tile

// The row of a tile's queries or keys that a lane loads with its load `n`.
uint staged_row(uint n) { return thread / kSlice4 + n * kStaging; }

// The end of a loop's count; where loops are to stay loops one that drivers don't know: they unroll what they can count.
uint rolled(uint end) { return kRolled != 0u ? min(end, p.d_k4 * end) : end; }

// Computes scores from the index of q or k where row staged_row(n) begins. All lanes call it; the content of `staged`
// is lost.
void score_tile(uint q_from[kLoads], uint k_from[kLoads]) {
  uint my4 = thread % kSlice4;
  vec4 next_q[kLoads], next_k[kLoads];
  [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
    next_q[n] = LOAD(q, q_from[n] + min(my4, p.d_k4 - 1u));
    next_k[n] = LOAD(k, k_from[n] + min(my4, p.d_k4 - 1u));
  }
  [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = 0.0;
  for (uint slice = 0u; slice < p.d_k4; slice += kSlice4) {
    if (slice + kSlice4 > p.d_k4) {  // the last one: what repeats doesn't count
      bool counts = slice + my4 < p.d_k4;
      [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
        next_q[n] = counts ? next_q[n] : vec4(0.0);
        next_k[n] = counts ? next_k[n] : vec4(0.0);
      }
    }
    barrier();
    [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
      staged[staged_row(n) * kPitch4 + my4] = next_q[n];
      staged[(kTileRows + staged_row(n)) * kPitch4 + my4] = next_k[n];
    }
    barrier();
    if (slice + kSlice4 < p.d_k4) {
      uint c = min(slice + kSlice4 + my4, p.d_k4 - 1u);
      [[unroll]] for (uint n = 0u; n < kLoads; ++n) {
        next_q[n] = LOAD(q, q_from[n] + c);
        next_k[n] = LOAD(k, k_from[n] + c);
      }
    }
    const uint together = kRolled != 0u ? 1u : kSlice4;
    uint end4 = rolled(kSlice4);
    for (uint first4 = 0u; first4 < end4; first4 += together) [[unroll]] for (uint n4 = 0u; n4 < together; ++n4) {
      uint c4 = first4 + n4;
      vec4 qs[4], ks[4];
      [[unroll]] for (uint r = 0u; r < 4u; ++r) qs[r] = staged[(ty * 4u + r) * kPitch4 + c4];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) ks[j] = staged[(kTileRows + j * kSide + tx) * kPitch4 + c4];
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        [[unroll]] for (uint n = 0u; n < 16u; ++n) s[n] = fma(qs[n / 4u][c], ks[n % 4u][c], s[n]);
      }
    }
  }
}
