#pragma once

#include "app/lessons/course.h"
#include "app/lessons/lesson.h"
#include "app/state/settings.h"

namespace headlight::app {

/// Returns the two letters of the user's language, by the environment (LC_ALL, LC_MESSAGES, LANG); empty: it names none.
std::string preferred_language();

/// The lessons that can be played.
struct LessonList {
  std::vector<Lesson> lessons;        ///< those of the course in its order, then others by their names
  std::vector<CoursePart> parts;      ///< of the course, whose lessons may be missing
  std::vector<std::string> problems;  ///< one line for each file that isn't a lesson

  const Lesson* find(const std::string& id) const;
  /// Returns the first lesson of the course that isn't passed; null: all are.
  const Lesson* next(const LessonProgress& progress) const;
  /// Returns the lesson that is to be passed before this one of the course; null: none is.
  const Lesson* before(const std::string& id) const;
};

/// Reads every .json file of the folders, and their courses; of two with one name the first. Folders that aren't there are
/// skipped.
LessonList read_lessons(const std::vector<std::filesystem::path>& folders, const std::string& language = {});

/// Returns assets/lessons as installed or in the source tree, then lessons/ in the user's configuration folder.
std::vector<std::filesystem::path> lesson_folders();

}  // namespace headlight::app
