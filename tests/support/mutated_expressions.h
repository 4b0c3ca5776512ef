#pragma once

#include <string>

#include "support/random.h"

namespace headlight::test {

/// A mask or score expression that is right, a preset or one of the tests' own, after one to three changes that keep most of
/// it: flipped bits, words taken out, doubled or exchanged, halves of two texts put together, parts inside of each other,
/// numbers without measure, bytes that are no text, great length.
std::string mutated_expression(Random& random);

}  // namespace headlight::test
