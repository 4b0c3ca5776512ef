#pragma once

#include <string_view>

#include "app/frame.h"
#include "app/lessons/lesson.h"

namespace headlight::app {

/// Whether the printed numbers agree with the run's, and both tables, row below row: each row as it was printed and as it is
/// computed, where digits that differ are coloured. `departure`: why the run isn's the card's, as LessonPlayer has it;
/// empty: it is, so that a number that differs is the file's.
void draw_lesson_numbers(Frame& frame, const PrintedNumbers& numbers, std::string_view departure);

}  // namespace headlight::app
