#pragma once

#include "app/lessons/lesson.h"

namespace headlight::app {

/// Do the run's numbers agree with the printed ones? NaN never does. `computed`: as many.
bool agree(const PrintedNumbers& numbers, std::span<const float> computed);

/// One sentence: do they agree, where don't they, and why. `computes_card`: the run is of the model, mask and text that the
/// card opens, so that a number that differs is the file's.
std::string verdict_of(const PrintedNumbers& numbers, std::span<const float> computed, bool computes_card);

}  // namespace headlight::app
