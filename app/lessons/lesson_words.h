#pragma once

#include <string>
#include <string_view>

namespace headlight::app {

/// The texts of the lessons' panel (lesson_words.json) in a language, English ones where it has none; {} are numbers and
/// names.
struct LessonWords {
  std::string language;  ///< "de"

  /// Throws where there is no such text.
  const char* operator[](const std::string& name) const;
};

extern const std::string_view kLessonWords;  ///< the file, which the build makes a constant of (cmake/Embed.cmake)

}  // namespace headlight::app
