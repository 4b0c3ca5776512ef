#include "app/lessons/lesson_words.h"

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace headlight::app {

const char* LessonWords::operator[](const std::string& name) const {
  static const nlohmann::json kTexts = parse_json(kLessonWords).value();
  const nlohmann::json& texts = kTexts.at(name);
  return texts.at(texts.contains(language) ? language : "en").get_ref<const std::string&>().c_str();
}

}  // namespace headlight::app
