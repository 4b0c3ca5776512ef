#include "app/lessons/course.h"

#include "app/lessons/lesson_condition.h"
#include "app/lessons/lesson_texts.h"
#include "app/state/state_json.h"

namespace headlight::app {

std::vector<CoursePart> read_course(const std::filesystem::path& path, const std::string& language) {
  using nlohmann::json;
  constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 20, .values = 10'000, .depth = 8};
  json value = read_chosen_json(path, "a course, a JSON object with \"headlight_course\" (docs/LESSONS.md)", kLimits);
  try {
    std::set<std::string> languages, known;
    choose_language(value, "", language, languages);
    const JsonReader reader(value, "");
    std::uint32_t version = 0;
    reader.read("headlight_course", version, 1U, 1U);
    refuse_unknown(reader, value, {"headlight_course", "parts"});
    const json* parts = list_of(reader, "parts");
    if (version == 0 || !parts) throw Error("expected \"headlight_course\" and a list of \"parts\"");
    std::vector<CoursePart> course;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      const JsonReader part((*parts)[i], fmt::format("parts[{}]", i));
      refuse_unknown(part, (*parts)[i], {"title", "lessons"});
      course.push_back({.title = text_of(part, "title"), .lessons = texts_of(part, "lessons")});
      for (const std::string& lesson : course.back().lessons) {
        if (!known.insert(lesson).second) throw Error("{}: the course has '{}' twice", part.path("lessons"), lesson);
      }
    }
    return course;
  } catch (const std::exception& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
}

std::vector<std::string> lessons_of(const std::vector<CoursePart>& parts) {
  std::vector<std::string> all;
  for (const CoursePart& part : parts) all.insert(all.end(), part.lessons.begin(), part.lessons.end());
  return all;
}

}  // namespace headlight::app
