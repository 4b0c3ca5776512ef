#include "app/lessons/lesson_list.h"

#include <set>
#include <system_error>

#include "app/lessons/lesson_texts.h"
#include "app/models/starter_view.h"
#include "core/error.h"
#include "platform/process.h"

namespace headlight::app {

namespace fs = std::filesystem;

std::string preferred_language() {
  const std::string language = platform::user_language().substr(0, 2);
  return is_language(language) ? language : std::string();
}

LessonList read_lessons(const std::vector<fs::path>& folders, const std::string& language) {
  LessonList list;
  std::set<std::string> known;
  const auto attempt = [&](const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {
      list.problems.emplace_back(error.what());
    }
  };
  for (const fs::path& folder : folders) {
    std::error_code failure;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      if (file.filename() == kCourseFile) {
        attempt([&] {
          for (CoursePart& part : read_course(file, language)) list.parts.push_back(std::move(part));
        });
      } else if (known.insert(utf8(file.stem())).second) {
        attempt([&] { list.lessons.push_back(read_lesson(file, language)); });
      }
    }
  }
  const std::vector<std::string> order = lessons_of(list.parts);
  std::ranges::stable_sort(list.lessons, {}, [&](const Lesson& lesson) { return std::ranges::find(order, lesson.id); });
  for (const std::string& id : order) {
    if (!known.contains(id)) list.problems.push_back(fmt::format("{}: there is no lesson '{}'", kCourseFile, id));
  }
  return list;
}

const Lesson* LessonList::find(const std::string& id) const {
  const auto found = std::ranges::find(lessons, id, &Lesson::id);
  return found == lessons.end() ? nullptr : &*found;
}

const Lesson* LessonList::next(const LessonProgress& progress) const {
  for (const std::string& id : lessons_of(parts)) {
    const Lesson* lesson = find(id);
    if (lesson && !progress.completed.contains(id)) return lesson;
  }
  return nullptr;
}

const Lesson* LessonList::before(const std::string& id) const {
  const Lesson* last = nullptr;
  for (const std::string& other : lessons_of(parts)) {
    if (other == id) return last;
    if (const Lesson* lesson = find(other)) last = lesson;
  }
  return nullptr;
}

std::vector<fs::path> lesson_folders() {
  std::vector<fs::path> folders{shared_folder() / "lessons"};
  try {
    folders.push_back(config_directory() / "lessons");
  } catch (const Error&) {  // no home folder: only what comes along
  }
  return folders;
}

}  // namespace headlight::app
