#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/lessons/lesson_list.h"

namespace headlight::app {

/// The answers to lessons, as `headlight view --results FILE` writes them.
struct LessonResults {
  struct Answer {
    std::string lesson;
    std::uint32_t card = 0, condition = 0;  ///< from 1; from 0
    std::uint32_t attempt = 0, seed = 0;
    bool is_right = false;
    nlohmann::json answer = {};
    std::string time = {};  ///< "2026-03-01T10:20:30Z"
  };

  std::string name = {};  ///< as it was typed; empty: it wasn't
  std::vector<Answer> answers = {};
};

/// Reads a file of results (docs/LESSONS.md has the format). Throws Error in one line that names the file, the member and
/// what was expected.
LessonResults read_results(const std::filesystem::path& path);
std::string results_text(const LessonResults& results);
/// Returns the time now, as results have it.
std::string time_of_answer();

}  // namespace headlight::app
