#include "app/lessons/lesson.h"

#include <fmt/ranges.h>

#include <system_error>

#include "app/lessons/exercise.h"
#include "app/lessons/lesson_player.h"
#include "app/shapes/quantities/quantity.h"
#include "app/state/field.h"
#include "app/state/state_json.h"
#include "app/state/state_names.h"
#include "files/image.h"

namespace headlight::app {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr JsonLimits kLimits{.bytes = std::size_t{1} << 20, .values = 100'000, .depth = 16};
constexpr std::size_t kMaxCards = 100;
constexpr std::size_t kMaxChoices = 8;
constexpr std::uint32_t kLastIndex = 0xffff;
constexpr std::uint32_t kMaxMinutes = 600;
constexpr int kMaxDecimals = 9;

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

/// Throws where `opens` names a setting that doesn't exist.
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

bool is_text(const json& value) {
  return value.is_string() ||
         (value.is_array() && std::ranges::all_of(value, [](const json& part) { return part.is_string(); }));
}

/// Puts the texts of `language` in the place of those beside them, and takes all translations out. `found`: their languages.
void choose_language(json& value, const std::string& path, const std::string& language, std::set<std::string>& found) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      choose_language(value[i], fmt::format("{}[{}]", path, i), language, found);
  }
  if (!value.is_object()) return;
  const auto inside = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  std::vector<std::string> languages;
  for (const auto& [key, texts] : value.items()) {
    if (is_language(key)) languages.push_back(key);
  }
  for (const std::string& key : languages) {
    const json texts = value[key];
    value.erase(key);
    if (!texts.is_object()) throw Error("{}: expected an object with texts, found {}", inside(key), shown(texts));
    for (const auto& [member, text] : texts.items()) {
      const auto beside = value.find(member);
      const bool fits = beside != value.end() && is_text(*beside) && is_text(text) && beside->type() == text.type() &&
                        beside->size() == text.size();
      if (!fits) throw Error("{}.{}: expected as many texts as \"{}\" has beside it", inside(key), member, member);
    }
    found.insert(key);
    if (key == language) value.update(texts);
  }
  for (const auto& [key, part] : value.items()) {
    if (key != "opens" && key != "numbers") choose_language(part, inside(key), language, found);
  }
}

std::vector<std::string> texts_of(const JsonReader& reader, const char* key) {
  std::vector<std::string> texts;
  if (const json* list = list_of(reader, key)) {
    for (const json& text : *list) {
      if (!text.is_string()) throw Error("{}: expected texts, found {}", reader.path(key), shown(text));
      texts.push_back(text.get<std::string>());
    }
  }
  return texts;
}

/// Returns the observation that an object names, alone or beside `beside`; null: none.
const Observation* named_observation(const json& value, const std::string& path) {
  const Observation* found = nullptr;
  for (const Observation& observation : observations()) {
    if (!value.contains(observation.name)) continue;
    if (found) throw Error("{}: expected one of {} and {}, not both", path, found->name, observation.name);
    found = &observation;
  }
  return found;
}

void read_place(const JsonReader& place, LessonSubject& subject) {
  if (const json* name = place.find("quantity")) {
    const std::optional<QuantityId> id = name->is_string() ? find_quantity(name->get<std::string>()) : std::nullopt;
    if (!id || quantity(*id).base) throw Error("{}: there is no quantity {}", place.path("quantity"), shown(*name));
    subject.quantity = *id;
  }
  if (place.find("kind")) place.read_enum<model::BlockKind>("kind", subject.kind.emplace(), kKinds);
  const std::pair<const char*, std::optional<std::uint32_t>*> indices[] = {{"layer", &subject.layer},
                                                                           {"head", &subject.head},
                                                                           {"batch", &subject.batch},
                                                                           {"row", &subject.row},
                                                                           {"column", &subject.column}};
  for (const auto& [key, index] : indices) {
    if (place.find(key)) place.read(key, index->emplace(), 0U, kLastIndex);
  }
  const std::vector<std::string> metrics = evaluation::metric_names();
  const std::vector<std::string_view> names(metrics.begin(), metrics.end());
  if (const auto metric = place.read_choice("metric", names)) subject.metric = static_cast<evaluation::HeadMetric>(*metric);
  place.read("token", subject.token);
}

/// Reads an observation's subject: the member of `reader` that has the observation's name. `settings`: those that the card
/// opens.
LessonSubject read_subject(const JsonReader& reader, const Observation& observation, const json& settings) {
  const std::string name(observation.name);
  const std::string path = reader.path(name);
  const json& value = *reader.find(name.c_str());
  LessonSubject subject{.observation = &observation};
  if (!observation.members.empty()) {
    const JsonReader place(value, path);
    refuse_unknown(place, value, {observation.members.begin(), observation.members.end()});
    read_place(place, subject);
    if (name == "probability" && subject.token.empty()) throw Error("{}: expected a token", place.path("token"));
    if (name == "metric" && !place.find("metric")) {
      throw Error("{}: expected one of {}", place.path("metric"), fmt::join(evaluation::metric_names(), ", "));
    }
  } else if (name == "choice") {
    subject.choices = texts_of(reader, "choice");
    if (subject.choices.size() < 2 || subject.choices.size() > kMaxChoices) {
      throw Error("{}: expected a list of 2 to {} texts", path, kMaxChoices);
    }
  } else {
    std::string text = text_of(reader, name.c_str());
    // A part of a list that is empty, or null, when the card opens: "view.pinned.0".
    const std::string last = text.substr(text.rfind('.') + 1);
    const bool is_part = last.find_first_not_of("0123456789") == std::string::npos;
    const bool is_setting =
        find_setting(settings, text) || (is_part && find_setting(settings, text.substr(0, text.size() - last.size() - 1)));
    if (name == "field" && !is_setting) throw Error("{}: there is no setting '{}'", path, text);
    const bool is_exercise = std::ranges::find(exercises(), text, &Exercise::name) != exercises().end();
    if (name == "exercise" && !is_exercise) throw Error("{}: there is no exercise '{}'", path, text);
    (name == "field" ? subject.field : subject.label) = std::move(text);
  }
  return subject;
}

LessonCondition read_condition(const json& value, const std::string& path, const json& settings) {
  const JsonReader reader(value, path);
  LessonCondition condition;
  std::vector<std::string> names;
  for (const Observation& observation : observations()) names.emplace_back(observation.name);
  const Observation* observation = named_observation(value, path);
  if (!observation) throw Error("{}: expected one of {}", path, fmt::join(names, ", "));
  condition.subject = read_subject(reader, *observation, settings);
  std::set<std::string> known = {std::string(observation->name), "within", "hint"};
  std::size_t tests = 0;
  for (const auto& [test, name] : kTests) {
    known.insert(std::string(name));
    if (const json* wanted = reader.find(std::string(name).c_str())) {
      condition.test = test;
      condition.value = *wanted;
      ++tests;
      const Observation* measured = wanted->is_object() ? named_observation(*wanted, reader.path(name)) : nullptr;
      if (!measured || test == LessonCondition::Test::Contains) continue;
      if (measured->is_answer) throw Error("{}: an answer is compared with what is observed, not with a question", path);
      refuse_unknown(JsonReader(*wanted, reader.path(name)), *wanted, {std::string(measured->name)});
      condition.measured = read_subject(JsonReader(*wanted, reader.path(name)), *measured, settings);
    }
  }
  if (observation->name == "exercise" && tests == 0) {
    condition.value = true;
    tests = 1;
  }
  if (tests != 1) throw Error("{}: expected one of equals, differs, at_least, at_most, contains", path);
  const bool needs_number =
      condition.test == LessonCondition::Test::AtLeast || condition.test == LessonCondition::Test::AtMost;
  if (needs_number && !condition.measured && !condition.value.is_number()) {
    throw Error("{}: expected a number after at_least or at_most", path);
  }
  refuse_unknown(reader, value, known);
  if (const json* within = reader.find("within")) {
    const bool fits = within->is_number() && within->get<double>() >= 0.0 && std::isfinite(within->get<double>());
    if (!fits) reader.fail("within", "a number, 0 or more", *within);
    condition.within = within->get<double>();
  }
  reader.read("hint", condition.hint);
  if (!observation->is_answer) return condition;
  if (condition.hint.empty()) throw Error("{}: a question needs a \"hint\", an observation for who answers wrong", path);
  const bool is_choice = observation->name == "choice";
  const bool is_one = condition.value.is_number_unsigned() && condition.value < condition.subject.choices.size();
  if (is_choice && !condition.measured && !is_one) {
    throw Error("{}: expected the number of the right choice, from 0 to {}", path, condition.subject.choices.size() - 1);
  }
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
  reader.read("decimals", numbers.decimals, 0, kMaxDecimals);
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
    for (const json& number : row) numbers.values.push_back(number.get<double>());
  }
  numbers.query.rows = static_cast<std::uint32_t>(rows->size());
  numbers.query.columns = static_cast<std::uint32_t>(rows->front().size());
  return numbers;
}

/// Finds a model in a folder beside the lesson's file, which is opened from there.
void find_model_beside(json& opens, const fs::path& folder) {
  const auto model = opens.find("model");
  if (model == opens.end() || !model->is_object() || !model->contains("path")) return;
  json& path = model->at("path");
  if (!path.is_string() || path.get_ref<const std::string&>().empty()) return;
  std::error_code failure;
  const fs::path beside = folder / path.get<std::string>();
  if (fs::is_directory(beside, failure)) path = utf8(fs::absolute(beside).lexically_normal());
}

/// Reads a PNG or JPEG file beside the lesson's.
std::shared_ptr<const exporting::Pixels> read_image(const JsonReader& reader, const fs::path& folder) {
  const fs::path name = text_of(reader, "image");
  const bool is_beside = !name.has_root_path() && std::ranges::find(name, fs::path("..")) == name.end();
  if (!is_beside)
    throw Error("{}: expected the name of a file beside the lesson's, found '{}'", reader.path("image"), utf8(name));
  return std::make_shared<const exporting::Pixels>(files::read_image_file(folder / name));
}

/// Reads a card. `state`: as the cards before have left it; becomes the card's. `folder`: of the file.
LessonCard read_card(const json& value, const std::string& path, const fs::path& folder, State& state) {
  const JsonReader reader(value, path);
  refuse_unknown(reader, value,
                 {"title", "text", "opens", "second_text", "task", "done", "reveal", "numbers", "image", "control", "matrix",
                  "indices", "conceals", "notes"});
  LessonCard card;
  card.title = text_of(reader, "title");
  card.paragraphs = texts_of(reader, "text");
  if (card.paragraphs.empty()) throw Error("{}: expected a list of texts", reader.path("text"));
  if (const json* opens = reader.find("opens")) {
    if (!opens->is_object()) reader.fail("opens", "an object with settings", *opens);
    refuse_unknown_settings(*opens, reader.path("opens"));
    card.opens = *opens;
    find_model_beside(card.opens, folder);
  }
  if (reader.find("second_text")) reader.read("second_text", card.second_text.emplace());
  try {
    open_card(card, state);
  } catch (const Error& error) {
    throw Error("{}: {}", reader.path("opens"), error.what());
  }
  if (card.second_text && !card.second_text->empty() && (is_notebook(state.source) || is_capture(state.source))) {
    throw Error("{}: what the card opens has no text of its own to compare", reader.path("second_text"));
  }
  reader.read("task", card.task);
  if (const json* conditions = list_of(reader, "done")) {
    const json settings = to_json(state);
    for (std::size_t i = 0; i < conditions->size(); ++i) {
      card.done.push_back(read_condition((*conditions)[i], fmt::format("{}[{}]", reader.path("done"), i), settings));
    }
  }
  if (card.task.empty() != card.done.empty()) {
    throw Error("{}: a task needs \"done\", which says when it is completed, and the other way round", path);
  }
  if (const json* numbers = reader.find("numbers")) card.numbers = read_numbers(*numbers, reader.path("numbers"));
  card.reveal = texts_of(reader, "reveal");
  reader.read("control", card.control);
  reader.read("matrix", card.matrix);
  reader.read("indices", card.shows_indices);
  reader.read("conceals", card.conceals);
  reader.read("notes", card.notes);
  if (card.done.empty() && (!card.reveal.empty() || card.conceals)) {
    throw Error("{}: \"reveal\" and \"conceals\" need a task, after which there is something to show", path);
  }
  if (reader.find("image")) card.image = read_image(reader, folder);
  return card;
}

Lesson lesson_from_json(json value, const fs::path& folder, const std::string& language) {
  Lesson lesson;
  if (!value.is_object() || !value.contains("headlight_lesson")) {
    throw Error("no Headlight lesson: it has no member \"headlight_lesson\"");
  }
  choose_language(value, "", language, lesson.languages);
  const JsonReader reader(value, "");
  std::uint32_t version = 0;
  reader.read("headlight_lesson", version, 1U, 1U);
  refuse_unknown(reader, value, {"headlight_lesson", "title", "summary", "minutes", "cards"});
  lesson.title = text_of(reader, "title");
  lesson.summary = text_of(reader, "summary");
  reader.read("minutes", lesson.minutes, 1U, kMaxMinutes);
  const json* cards = list_of(reader, "cards");
  const bool is_size_good = cards && !cards->empty() && cards->size() <= kMaxCards;
  if (!is_size_good) throw Error("cards: expected a list of 1 to {} cards", kMaxCards);
  State state;
  for (std::size_t i = 0; i < cards->size(); ++i) {
    lesson.cards.push_back(read_card((*cards)[i], fmt::format("cards[{}]", i), folder, state));
  }
  return lesson;
}

}  // namespace

bool is_language(const std::string& key) {
  return key.size() == 2 && std::ranges::all_of(key, [](char letter) { return letter >= 'a' && letter <= 'z'; });
}

Lesson read_lesson(const fs::path& path, const std::string& language) {
  std::error_code failure;
  const fs::file_time_type written = fs::last_write_time(path, failure);  // before reading: a later change isn't missed
  json value = read_chosen_json(path, "a lesson, a JSON object with \"headlight_lesson\" (docs/LESSONS.md)", kLimits);
  try {
    Lesson lesson = lesson_from_json(std::move(value), path.parent_path(), language);
    lesson.id = utf8(path.stem());
    lesson.path = path;
    lesson.written = written;
    lesson.language = language;
    return lesson;
  } catch (const std::exception& error) {
    throw Error("{}: {}", utf8(path), error.what());
  }
}

}  // namespace headlight::app
