#include "app/lessons/lesson_file.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include "app/lessons/lesson_player.h"
#include "app/models/bundled_models.h"
#include "app/quantities/quantity.h"
#include "app/state/chosen_json.h"
#include "app/state/field.h"
#include "app/state/json_reader.h"
#include "app/state/state_json.h"
#include "app/state/state_names.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 20, .values = 100'000, .depth = 16};
constexpr std::size_t kMostCards = 100;
constexpr std::uint32_t kLastIndex = 0xffff;
constexpr std::uint32_t kMostMinutes = 600;
constexpr int kMostDecimals = 9;

constexpr std::array<EnumName<LessonCondition::Test>, 5> kTests = {{{LessonCondition::Test::Equals, "equals"},
                                                                    {LessonCondition::Test::Differs, "differs"},
                                                                    {LessonCondition::Test::AtLeast, "at_least"},
                                                                    {LessonCondition::Test::AtMost, "at_most"},
                                                                    {LessonCondition::Test::Contains, "contains"}}};

void refuse_unknown(const JsonReader& reader, const json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw Error("{}: no such member", reader.path(key));
  }
}

std::string text_of(const JsonReader& reader, const char* key) {
  std::string text;
  reader.read(key, text);
  if (text.empty()) throw Error("{}: expected a text", reader.path(key));
  return text;
}

const json* list_of(const JsonReader& reader, const char* key) {
  const json* list = reader.find(key);
  if (list && !list->is_array()) reader.fail(key, "a list", *list);
  return list;
}

/// Every setting that `opens` names must be one.
void refuse_unknown_settings(const json& opens, const std::string& path) {
  const auto is_field = [](const std::string& group, const std::string& key) {
    return std::ranges::any_of(state_fields(), [&](const Field& field) { return field.group == group && field.key == key; });
  };
  const auto is_group = [](const std::string& group) {
    return std::ranges::any_of(state_fields(), [&](const Field& field) { return field.group == group; });
  };
  for (const auto& [key, value] : opens.items()) {
    if (is_field("", key)) continue;
    if (!is_group(key) || !value.is_object()) throw Error("{}.{}: there is no such setting", path, key);
    for (const auto& [member, inner] : value.items()) {
      if (!is_field(key, member)) throw Error("{}.{}.{}: there is no such setting", path, key, member);
    }
  }
}

LessonCondition read_condition(const json& value, const std::string& path, const json& opened) {
  const JsonReader reader(value, path);
  LessonCondition condition;
  condition.field = text_of(reader, "field");
  std::string pointer = "/" + condition.field;
  std::ranges::replace(pointer, '.', '/');
  if (condition.field.find_first_of("~/") != std::string::npos || !opened.contains(json::json_pointer(pointer))) {
    throw Error("{}: there is no setting '{}'", reader.path("field"), condition.field);
  }
  std::size_t tests = 0;
  for (const auto& [test, name] : kTests) {
    if (const json* wanted = reader.find(std::string(name).c_str())) {
      condition.test = test;
      condition.value = *wanted;
      ++tests;
    }
  }
  if (tests != 1) throw Error("{}: expected one of equals, differs, at_least, at_most, contains", path);
  const bool needs_number =
      condition.test == LessonCondition::Test::AtLeast || condition.test == LessonCondition::Test::AtMost;
  if (needs_number && !condition.value.is_number()) throw Error("{}: expected a number behind at_least or at_most", path);
  refuse_unknown(reader, value, {"field", "equals", "differs", "at_least", "at_most", "contains"});
  return condition;
}

PrintedNumbers read_numbers(const json& value, const std::string& path) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value,
                 {"source", "quantity", "kind", "layer", "head", "batch", "row", "column", "values", "decimals", "within"});
  PrintedNumbers numbers;
  numbers.source = text_of(reader, "source");
  const std::string name = text_of(reader, "quantity");
  const std::optional<QuantityId> id = find_quantity(name);
  if (!id || quantity(*id).base) throw Error("{}: there is no quantity '{}'", reader.path("quantity"), name);
  numbers.query.quantity = *id;
  reader.read_enum<model::BlockKind>("kind", numbers.query.block.kind, kKinds);
  reader.read("layer", numbers.query.block.layer.value, 0U, kLastIndex);
  reader.read("head", numbers.query.head, 0U, kLastIndex);
  reader.read("batch", numbers.query.batch, 0U, kLastIndex);
  reader.read("row", numbers.query.row, 0U, kLastIndex);
  reader.read("column", numbers.query.column, 0U, kLastIndex);
  reader.read("decimals", numbers.decimals, 0, kMostDecimals);
  if (reader.find("within")) {
    float within = 0.0F;
    reader.read("within", within, 0.0F, 1.0F);
    numbers.within = double{within};
  }
  const json* rows = list_of(reader, "values");
  if (!rows || rows->empty()) throw Error("{}: expected a list of rows of numbers", reader.path("values"));
  for (const json& row : *rows) {
    const bool is_row = row.is_array() && !row.empty() && row.size() == rows->front().size() &&
                        std::ranges::all_of(row, [](const json& number) { return number.is_number(); });
    if (!is_row) throw Error("{}: expected rows of equally many numbers, found {}", reader.path("values"), shown(row));
    for (const json& number : row) numbers.values.push_back(number.get<float>());
  }
  numbers.query.rows = static_cast<std::uint32_t>(rows->size());
  numbers.query.columns = static_cast<std::uint32_t>(rows->front().size());
  return numbers;
}

/// `state`: as the cards before have left it; becomes the card's.
LessonCard read_card(const json& value, const std::string& path, State& state) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value, {"title", "text", "opens", "task", "done", "numbers"});
  LessonCard card;
  card.title = text_of(reader, "title");
  if (const json* paragraphs = list_of(reader, "text")) {
    for (const json& paragraph : *paragraphs) {
      if (!paragraph.is_string()) throw Error("{}: expected texts, found {}", reader.path("text"), shown(paragraph));
      card.paragraphs.push_back(paragraph.get<std::string>());
    }
  }
  if (card.paragraphs.empty()) throw Error("{}: expected a list of texts", reader.path("text"));
  if (const json* opens = reader.find("opens")) {
    if (!opens->is_object()) reader.fail("opens", "an object with settings", *opens);
    refuse_unknown_settings(*opens, reader.path("opens"));
    card.opens = *opens;
  }
  try {
    open_card(card, state);
  } catch (const Error& error) {
    throw Error("{}: {}", reader.path("opens"), error.what());
  }
  reader.read("task", card.task);
  if (const json* conditions = list_of(reader, "done")) {
    const json opened = to_json(state);
    for (std::size_t i = 0; i < conditions->size(); ++i) {
      card.done.push_back(read_condition((*conditions)[i], fmt::format("{}[{}]", reader.path("done"), i), opened));
    }
  }
  if (card.task.empty() != card.done.empty()) {
    throw Error("{}: a task needs \"done\", which says when it is completed, and the other way round", path);
  }
  if (const json* numbers = reader.find("numbers")) card.numbers = read_numbers(*numbers, reader.path("numbers"));
  return card;
}

Lesson lesson_from_json(const json& value) {
  const JsonReader reader(value, "");
  if (!reader.find("headlight_lesson")) throw Error("no Headlight lesson: it has no member \"headlight_lesson\"");
  std::uint32_t version = 0;
  reader.read("headlight_lesson", version, 1U, 1U);
  refuse_unknown(reader, value, {"headlight_lesson", "title", "summary", "minutes", "cards"});
  Lesson lesson;
  lesson.title = text_of(reader, "title");
  lesson.summary = text_of(reader, "summary");
  reader.read("minutes", lesson.minutes, 1U, kMostMinutes);
  const json* cards = list_of(reader, "cards");
  const bool is_size_good = cards && !cards->empty() && cards->size() <= kMostCards;
  if (!is_size_good) throw Error("cards: expected a list of 1 to {} cards", kMostCards);
  State state;
  for (std::size_t i = 0; i < cards->size(); ++i) {
    lesson.cards.push_back(read_card((*cards)[i], fmt::format("cards[{}]", i), state));
  }
  return lesson;
}

}  // namespace

double PrintedNumbers::tolerance() const {
  if (within) return *within;
  double largest = 0.0;
  for (const float value : values) largest = std::max(largest, std::abs(double{value}));
  // Half of the last printed decimal, and the rounding of float32, in which both programs compute.
  return 0.5 * std::pow(10.0, -decimals) + 1e-6 * std::max(largest, 1.0);
}

Lesson read_lesson(const fs::path& path) {
  const json value = read_chosen_json(path, "a lesson, a JSON object with \"headlight_lesson\" (docs/LESSONS.md)", kLimits);
  try {
    Lesson lesson = lesson_from_json(value);
    lesson.id = path.stem().string();
    return lesson;
  } catch (const std::exception& error) {
    throw Error("{}: {}", path.string(), error.what());
  }
}

LessonList read_lessons(const std::vector<fs::path>& folders) {
  LessonList list;
  std::set<std::string> known;
  for (const fs::path& folder : folders) {
    std::error_code failure;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      if (!known.insert(file.stem().string()).second) continue;
      try {
        list.lessons.push_back(read_lesson(file));
      } catch (const std::exception& error) {
        list.problems.emplace_back(error.what());
      }
    }
  }
  return list;
}

std::vector<fs::path> lesson_folders() {
  std::vector<fs::path> folders;
  for (const fs::path& models : bundled_folders()) folders.push_back(models.parent_path() / "lessons");
  try {
    folders.push_back(config_directory() / "lessons");
  } catch (const Error&) {  // no home folder: only what comes along
  }
  return folders;
}

}  // namespace headlight::app
