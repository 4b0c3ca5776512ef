#include "app/lessons/lesson_condition.h"

#include <cmath>

#include <fmt/ranges.h>

#include "app/lessons/observation.h"
#include "app/shapes/quantities/quantity.h"
#include "app/state/state_names.h"

namespace headlight::app {
namespace {

using nlohmann::json;
using Test = LessonCondition::Test;

constexpr std::array<EnumName<Test>, 5> kTests = {{{Test::Equals, "equals"},
                                                   {Test::Differs, "differs"},
                                                   {Test::AtLeast, "at_least"},
                                                   {Test::AtMost, "at_most"},
                                                   {Test::Contains, "contains"}}};

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

/// Reads the subject of what is observed in a run or in the state: the member of `reader` that has the observation's name.
LessonSubject read_subject(const JsonReader& reader, const Observation& observation, const json& settings) {
  const std::string name(observation.name);
  const std::string path = reader.path(name);
  const json& value = *reader.find(name.c_str());
  LessonSubject subject{.observation = &observation};
  if (name != "field") {
    const JsonReader place(value, path);
    refuse_unknown(place, value, {observation.members.begin(), observation.members.end()});
    read_place(place, subject);
    if (name == "probability" && subject.token.empty()) throw Error("{}: expected a token", place.path("token"));
    if (name == "metric" && !place.find("metric")) {
      throw Error("{}: expected one of {}", place.path("metric"), fmt::join(evaluation::metric_names(), ", "));
    }
    return subject;
  }
  subject.field = text_of(reader, "field");
  // A part of a list that is empty, or null, when the card opens: "view.pinned.0".
  const std::string last = subject.field.substr(subject.field.rfind('.') + 1);
  const bool is_part = last.find_first_not_of("0123456789") == std::string::npos;
  const bool is_setting =
      find_setting(settings, subject.field) ||
      (is_part && find_setting(settings, subject.field.substr(0, subject.field.size() - last.size() - 1)));
  if (!is_setting) throw Error("{}: there is no setting '{}'", path, subject.field);
  return subject;
}

/// Reads what an observation is compared with, where the file says it. Returns the members that a condition may have.
std::set<std::string> read_tests(const JsonReader& reader, const std::string& path, const json& settings,
                                 LessonCondition& condition) {
  const bool has_default = !condition.value.is_null();
  std::set<std::string> known;
  std::vector<Test> tests;
  for (const auto& [test, name] : kTests) {
    known.insert(std::string(name));
    const json* wanted = reader.find(std::string(name).c_str());
    if (!wanted) continue;
    tests.push_back(test);
    if (tests == std::vector{Test::AtLeast, Test::AtMost} && wanted->is_number()) {
      condition.most = wanted->get<double>();
      continue;
    }
    condition.test = test;
    condition.value = *wanted;
    const Observation* measured = wanted->is_object() ? named_observation(*wanted, reader.path(name)) : nullptr;
    if (!measured || test == Test::Contains) continue;
    if (measured->is_answer) throw Error("{}: an answer is compared with what is observed, not with a question", path);
    refuse_unknown(JsonReader(*wanted, reader.path(name)), *wanted, {std::string(measured->name)});
    condition.measured = read_subject(JsonReader(*wanted, reader.path(name)), *measured, settings);
  }
  const bool is_default = tests.empty() && has_default;
  if (tests.size() != (condition.most ? 2U : 1U) && !is_default) {
    throw Error("{}: expected one of equals, differs, at_least, at_most, contains", path);
  }
  const bool needs_number = condition.test == Test::AtLeast || condition.test == Test::AtMost;
  if (needs_number && !condition.measured && !condition.value.is_number()) {
    throw Error("{}: expected a number after at_least or at_most", path);
  }
  return known;
}

/// Finds or makes the place of a setting; a list of more elements isn't made.
json& place_of(json& settings, const std::string& path) {
  json::json_pointer place;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    const bool is_far = key.size() > 4 && key.find_first_not_of("0123456789") == std::string::npos;
    if (is_far) throw Error("{}: there is no such place", path);
    place.push_back(key);
    begin = end + 1;
  }
  return settings[place];
}

}  // namespace

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
    if (place.find(key)) place.read(key, index->emplace(), 0U, kLastPlace);
  }
  const std::vector<std::string> metrics = evaluation::metric_names();
  const std::vector<std::string_view> names(metrics.begin(), metrics.end());
  if (const auto metric = place.read_choice("metric", names)) subject.metric = static_cast<evaluation::HeadMetric>(*metric);
  place.read("token", subject.token);
}

LessonCondition read_condition(const json& value, const std::string& path, const json& settings) {
  const JsonReader reader(value, path);
  const Observation* observation = named_observation(value, path);
  if (!observation) {
    std::vector<std::string_view> names;
    for (const Observation& known : observations()) names.push_back(known.name);
    throw Error("{}: expected one of {}", path, fmt::join(names, ", "));
  }
  LessonCondition condition;
  if (observation->read) {
    condition.subject.observation = observation;
    observation->read(reader, condition);
  } else {
    condition.subject = read_subject(reader, *observation, settings);
  }
  std::set<std::string> known;
  if (!observation->has_own_test) known = read_tests(reader, path, settings, condition);
  known.insert({std::string(observation->name), "within", "hint"});
  known.insert(observation->beside.begin(), observation->beside.end());
  refuse_unknown(reader, value, known);
  if (const json* within = reader.find("within")) {
    const bool fits = within->is_number() && within->get<double>() >= 0.0 && std::isfinite(within->get<double>());
    if (!fits) reader.fail("within", "a number, 0 or more", *within);
    condition.within = within->get<double>();
  }
  reader.read("hint", condition.hint);
  if (!observation->is_answer || observation->name == "explain") return condition;
  if (condition.hint.empty()) throw Error("{}: a question needs a \"hint\", an observation for who answers wrong", path);
  const bool is_choice = observation->name == "choice";
  const bool is_one = condition.value.is_number_unsigned() && condition.value < condition.subject.choices.size();
  if (is_choice && !condition.measured && !is_one) {
    throw Error("{}: expected the number of the right choice, from 0 to {}", path, condition.subject.choices.size() - 1);
  }
  return condition;
}

json settings_once_done(const std::vector<LessonCondition>& done, const json& settings) {
  json changed = settings;
  for (const LessonCondition& condition : done) {
    const LessonSubject& subject = condition.subject;
    const bool is_click = subject.observation->name == "click";
    const bool is_told = (is_click || subject.observation->name == "field") && !condition.measured;
    if (subject.observation->is_answer && !is_click) continue;
    if (!is_told || condition.test == Test::Differs) return {};
    try {
      json& place = place_of(changed, is_click ? "view.pinned" : subject.field);
      condition.test == Test::Contains&& place.is_array() ? place.push_back(condition.value) : void(place = condition.value);
    } catch (const std::exception&) {
      return {};  // a part of a list that isn't there
    }
  }
  return changed;
}

}  // namespace headlight::app
