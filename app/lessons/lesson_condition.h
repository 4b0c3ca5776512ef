#pragma once

#include <set>

#include "app/lessons/lesson.h"
#include "app/state/json_reader.h"

namespace headlight::app {

// Parts of a lesson's file. Each function throws Error, which names the member and what was expected.

inline constexpr std::uint32_t kLastPlace = 0xffff;  ///< of layers, heads, rows and columns

void refuse_unknown(const JsonReader& reader, const nlohmann::json& object, const std::set<std::string>& known);
std::string text_of(const JsonReader& reader, const char* key);
/// Returns null where there is none.
const nlohmann::json* list_of(const JsonReader& reader, const char* key);
std::vector<std::string> texts_of(const JsonReader& reader, const char* key);
/// Reads quantity, head, row and what else says where a number is.
void read_place(const JsonReader& place, LessonSubject& subject);

/// `settings`: of the state that the card opens, which has all that a condition may name.
LessonCondition read_condition(const nlohmann::json& value, const std::string& path, const nlohmann::json& settings);

/// Returns the settings that meeting the conditions leads to; null: they don't say it.
nlohmann::json settings_once_done(const std::vector<LessonCondition>& done, const nlohmann::json& settings);

}  // namespace headlight::app
