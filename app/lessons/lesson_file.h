#pragma once

#include "app/lessons/lesson.h"

namespace headlight::app {

/// Reads one lesson (docs/LESSONS.md has the format) with its texts in `language` ("de"), where it has them. Throws Error in
/// one line that names the file, the member and what was expected; also where a card names a setting that there isn't.
Lesson read_lesson(const std::filesystem::path& path, const std::string& language = {});

/// The two letters of the user's language, by the environment (LC_ALL, LC_MESSAGES, LANG); empty: it names none.
std::string preferred_language();

/// The lessons that can be played.
struct LessonList {
  std::vector<Lesson> lessons;        ///< in the order of their files' names, those that come along first
  std::vector<std::string> problems;  ///< one line for each file that isn't a lesson
};

/// Reads every .json file of the folders; of two with one name the first. Folders that aren't there are skipped.
LessonList read_lessons(const std::vector<std::filesystem::path>& folders, const std::string& language = {});

/// assets/lessons as installed or in the source tree, then lessons/ in the user's configuration folder.
std::vector<std::filesystem::path> lesson_folders();

}  // namespace headlight::app
