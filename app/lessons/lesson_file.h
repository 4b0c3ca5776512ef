#pragma once

#include "app/lessons/lesson.h"

namespace headlight::app {

/// Reads one lesson (docs/LESSONS.md has the format) with its texts in `language` ("de"), where it has them. Throws Error in
/// one line that names the file, the member and what was expected; also where a card names a setting that there isn't.
Lesson read_lesson(const std::filesystem::path& path, const std::string& language = {});

/// Is it a key for texts in a language, two small letters ("de")?
bool is_language(const std::string& key);

}  // namespace headlight::app
