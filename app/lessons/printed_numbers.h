#pragma once

#include <string_view>

#include "app/lessons/lesson.h"
#include "app/lessons/lesson_words.h"

namespace headlight::app {

/// Do the run's numbers agree with the printed ones? NaN never does. `computed`: as many.
bool agree(const PrintedNumbers& numbers, std::span<const float> computed);

/// Returns one sentence: whether the numbers agree, where they don't, and why. `departure`: LessonPlayer::departure();
/// empty: a number that differs is the file's.
std::string verdict_of(const PrintedNumbers& numbers, std::span<const float> computed, std::string_view departure,
                       const LessonWords& words = LessonWords());

}  // namespace headlight::app
