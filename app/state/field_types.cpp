#include "app/state/field_types.h"

#include <fmt/ranges.h>

namespace headlight::app {

std::string help_of(const FlagText& text, const std::string& limits, const std::string& default_value) {
  std::string help = text.help;
  if (text.tells_limits && !limits.empty()) help += ", " + limits;
  const std::string& otherwise = text.default_text.empty() ? default_value : text.default_text;
  if (text.tells_default) help += fmt::format(" (default {})", otherwise);
  return help;
}

std::vector<Field> fields_of(std::initializer_list<std::vector<Field> (*)()> lists) {
  std::vector<Field> fields;
  for (const auto list : lists) std::ranges::move(list(), std::back_inserter(fields));
  return fields;
}

Field switch_field(std::string_view group, std::string_view key, std::string_view label, const Member<bool>& at,
                   const FlagText& text) {
  Field field = plain_field(group, key, label, at);
  if (text.name.empty()) return field;
  field.flag = {.name = text.name, .value_name = "on|off", .help = help_of(text, {}, default_of(at) ? "on" : "off")};
  field.flag.parse = [at](const std::string& flag, const std::string& typed) -> StateEdit {
    const bool is_on = parse_switch(flag, typed);
    return [at, is_on](State& state) { at(state) = is_on; };
  };
  return field;
}

Field choice_field(std::string_view group, std::string_view key, std::string_view label, const NamedChoice& choice,
                   const FlagText& text) {
  Field field{.group = std::string(group), .key = std::string(key), .label = std::string(label)};
  field.write = [choice](const State& state) -> nlohmann::json { return choice.names.at(choice.get(state)); };
  field.read = [choice](const JsonReader& object, const char* name, State& state) {
    if (const std::optional<std::size_t> number = object.read_choice(name, choice.names)) choice.set(state, *number);
  };
  field.is_same = [choice](const State& a, const State& b) { return choice.get(a) == choice.get(b); };
  if (text.name.empty()) return field;
  const std::vector<std::string> names(choice.names.begin(), choice.names.end());
  field.flag = {.name = text.name,
                .value_name = text.value_name.empty() ? fmt::format("{}", fmt::join(names, "|")) : text.value_name,
                .help = help_of(text, {}, names.at(choice.get(State{})))};
  field.flag.parse = [choice, names](const std::string& flag, const std::string& typed) -> StateEdit {
    const std::size_t number = parse_choice(flag, typed, names);
    return [choice, number](State& state) { choice.set(state, number); };
  };
  return field;
}

}  // namespace headlight::app
