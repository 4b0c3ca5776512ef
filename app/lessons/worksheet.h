#pragma once

#include "app/engine/engine.h"
#include "app/lessons/lesson.h"

namespace headlight::app {

/// A lesson on paper, as a PDF of A4 pages: each card's sentences, its question, and an empty grid with the names of the
/// map, or of the printed numbers, that the card shows. `has_answers`: the same pages with the numbers in the grids, the
/// right answers and what they are because of. Maps of more than 12 rows or columns have no grid. Throws Error in one line
/// where a card can't be computed.
std::string worksheet_pdf(const Lesson& lesson, EngineOptions options, bool has_answers);

}  // namespace headlight::app
