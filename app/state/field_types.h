#pragma once

#include <type_traits>

#include "app/state/field.h"
#include "app/state/json_reader.h"
#include "app/state/usage.h"

namespace headlight::app {

// Makes the fields of state_fields.cpp and view_fields.cpp.

/// The way from a State to one of its members. It doesn't know which one in its type, so that what fields do is compiled
/// once for a type of value instead of once for a field.
template <typename Value>
struct Member {
  Value& (*in_changeable)(State&);
  const Value& (*in_constant)(const State&);

  Value& operator()(State& state) const { return in_changeable(state); }
  const Value& operator()(const State& state) const { return in_constant(state); }
};

/// Returns the member that `Reach` leads to: a function without captures from a State, changeable or not, to one of its
/// members.
template <typename Reach>
auto member_by(Reach /*reach*/) {
  using Value = std::remove_reference_t<std::invoke_result_t<Reach, State&>>;
  return Member<Value>{.in_changeable = [](State& state) -> Value& { return Reach()(state); },
                       .in_constant = [](const State& state) -> const Value& { return Reach()(state); }};
}

/// Returns the member at the end of a way through members of members, as at<&State::view, &ViewChoices::theme>().
template <auto... steps>
auto at() {
  return member_by([](auto& state) -> auto& { return (state.*....*steps); });
}

/// Returns the value that the field has in a new state.
template <typename Value>
Value default_of(const Member<Value>& member) {
  const State state;
  return member(state);
}

/// The list's part of a flag; limits, choices and the default come from the field.
struct FlagText {
  std::string name = {};
  std::string help = {};
  std::string value_name = {};    ///< empty: the one of its type
  std::string default_text = {};  ///< instead of the default's number or name
  bool tells_limits = true;
  bool tells_default = true;  ///< not where the value of the last time is taken
};

std::string help_of(const FlagText& text, const std::string& limits, const std::string& default_value);

/// Returns a field of any type that has == : `write` and `read` are its JSON.
template <typename Value, typename Write, typename Read>
Field value_field(std::string_view group, std::string_view key, std::string_view label, const Member<Value>& at, Write write,
                  Read read) {
  Field field{.group = std::string(group), .key = std::string(key), .label = std::string(label)};
  field.write = [at, write](const State& state) -> nlohmann::json { return write(at(state)); };
  field.read = [at, read](const JsonReader& object, const char* name, State& state) { read(object, name, at(state)); };
  field.is_same = [at](const State& a, const State& b) { return at(a) == at(b); };
  return field;
}

/// Returns a field of a text, a switch, or any other value that nlohmann::json and JsonReader know.
template <typename Value>
Field plain_field(std::string_view group, std::string_view key, std::string_view label, const Member<Value>& at) {
  const auto read = [](const JsonReader& object, const char* name, Value& value) { object.read(name, value); };
  return value_field(
      group, key, label, at, [](const Value& value) { return nlohmann::json(value); }, read);
}

Field switch_field(std::string_view group, std::string_view key, std::string_view label, const Member<bool>& at,
                   const FlagText& text = {});

/// Returns a field of a number from `low` to `high`.
template <typename Number>
Field number_field(std::string_view group, std::string_view key, std::string_view label, const Member<Number>& at,
                   Number low, Number high, const FlagText& text = {}) {
  const auto read = [low, high](const JsonReader& object, const char* name, Number& value) {
    object.read(name, value, low, high);
  };
  Field field = value_field(
      group, key, label, at, [](Number value) { return nlohmann::json(value); }, read);
  if (text.name.empty()) return field;
  const std::string limits = fmt::format("{} to {}", low, high);
  field.flag = {.name = text.name, .value_name = "N", .help = help_of(text, limits, fmt::format("{}", default_of(at)))};
  field.flag.parse = [at, low, high](const std::string& flag, const std::string& typed) -> StateEdit {
    Number number{};
    if constexpr (std::integral<Number>) {
      number = static_cast<Number>(parse_integer(flag, typed, low, high));
    } else {
      number = parse_number(flag, typed, low, high);
    }
    return [at, number](State& state) { at(state) = number; };
  };
  return field;
}

/// A value that has a name, known by its number among `names`: what fields of such values do is compiled once for all types.
struct NamedChoice {
  std::vector<std::string_view> names = {};
  std::function<std::size_t(const State&)> get = {};
  std::function<void(State&, std::size_t)> set = {};
};

Field choice_field(std::string_view group, std::string_view key, std::string_view label, const NamedChoice& choice,
                   const FlagText& text = {});

/// Returns a field whose values are one of `names`, which must outlive the field.
template <typename Enum, std::size_t size>
Field choice_field(std::string_view group, std::string_view key, std::string_view label, const Member<Enum>& at,
                   const std::array<EnumName<Enum>, size>& names, const FlagText& text = {}) {
  NamedChoice choice;
  for (const auto& [value, name] : names) choice.names.push_back(name);
  choice.get = [at, &names](const State& state) -> std::size_t {
    for (std::size_t i = 0; i < size; ++i) {
      if (names[i].first == at(state)) return i;
    }
    throw Error("an enumerator without a name");
  };
  choice.set = [at, &names](State& state, std::size_t number) { at(state) = names[number].first; };
  return choice_field(group, key, label, choice, text);
}

/// Returns the field with quick repetitions of a change as one step of the history.
inline Field continuous(Field field) {
  field.is_continuous = true;
  return field;
}

/// Returns the field with `describe`, which names a change by the values before and after.
inline Field described(Field field, std::function<Change(const State&, const State&)> describe) {
  field.describe = std::move(describe);
  return field;
}

/// Returns the field with a flag on the command line.
inline Field flagged(Field field, FieldFlag flag) {
  field.flag = std::move(flag);
  return field;
}

/// Returns the fields of all these lists.
std::vector<Field> fields_of(std::initializer_list<std::vector<Field> (*)()> lists);

/// Returns the settings of views, and of what they compare (view_fields.cpp); state_fields() lists them among all others.
std::vector<Field> view_fields();
/// Returns all settings of setting_groups().
std::vector<Field> setting_fields();

}  // namespace headlight::app
