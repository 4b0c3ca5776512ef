// NaN and infinities by bits, because a compiler may assume that there are none.
float not_a_number() { return uintBitsToFloat(0x7fc00000u); }

bool is_nan(float value) { return (floatBitsToUint(value) & 0x7fffffffu) > 0x7f800000u; }
bool is_finite(float value) { return (floatBitsToUint(value) & 0x7f800000u) != 0x7f800000u; }
