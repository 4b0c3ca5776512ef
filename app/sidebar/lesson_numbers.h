#pragma once

#include "app/frame.h"
#include "app/lessons/lesson.h"

namespace headlight::app {

/// Whether the printed numbers agree with the run's, and both tables, row below row: each row as it was printed and as it is
/// computed, where digits that differ are coloured. `computes_card`: the run is of the model, mask and text that the card
/// opens, so that a number that differs is the file's.
void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, bool computes_card);

}  // namespace headlight::app
