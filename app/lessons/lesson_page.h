#pragma once

#include <filesystem>
#include <span>

#include "app/engine/engine.h"
#include "app/lessons/lesson_list.h"

namespace headlight::app {

enum class LessonMedium : std::uint8_t {
  Screen,  ///< cards one after the other, which ask and answer
  Paper,   ///< tasks that can be done on paper, and their answers after them, on a page of their own
};

/// Returns a lesson as one HTML file that needs nothing but a browser: its maps and right answers are those of the runs that
/// its cards open. Throws Error in one line where a card can't be computed.
std::string lesson_page(const Lesson& lesson, EngineOptions options, LessonMedium medium);

/// Returns a page for the teacher: of files that `headlight view --results` wrote, who was right at the first try on which
/// card. `lessons`: for titles; those of other lessons are their ids. Throws Error in one line that names the file.
std::string results_page(std::span<const std::filesystem::path> files, const LessonList& lessons);

}  // namespace headlight::app
