#pragma once

#include <string_view>

#include "app/engine/engine.h"
#include "app/lessons/lesson.h"

namespace headlight::app {

/// Returns a lesson on paper, as a PDF of A4 pages: each card's sentences, its question, and an empty grid with the names of
/// the map, or of the printed numbers, that the card shows. `has_answers`: the same pages with the numbers in the grids, the
/// right answers and what they are because of. Maps of more than 12 rows or columns have no grid. Throws Error in one line
/// where a card can't be computed.
std::string worksheet_pdf(const Lesson& lesson, EngineOptions options, bool has_answers);

/// Do the run's numbers agree with the printed ones? NaN never does. `computed`: as many.
bool agree(const PrintedNumbers& numbers, std::span<const float> computed);

/// Returns one sentence: whether the numbers agree, where they don't, and why. `departure`: LessonPlayer::departure();
/// empty: a number that differs is the file's.
std::string verdict_of(const PrintedNumbers& numbers, std::span<const float> computed, std::string_view departure);

}  // namespace headlight::app
