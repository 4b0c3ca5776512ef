#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headlight::app {

/// A part of a course: lessons in order, by their ids.
struct CoursePart {
  std::string title;
  std::vector<std::string> lessons;
};

inline constexpr const char* kCourseFile = "course.json";  ///< in a folder of lessons: its parts, and the order

/// Reads a course (docs/LESSONS.md has the format) with its titles in `language`, where it has them. Throws Error in one
/// line that names the file, the member and what was expected.
std::vector<CoursePart> read_course(const std::filesystem::path& path, const std::string& language = {});

/// Returns the lessons of all parts, in order.
std::vector<std::string> lessons_of(const std::vector<CoursePart>& parts);

}  // namespace headlight::app
