#include "app/state/setting_text.h"

#include <fmt/ranges.h>

#include "app/state/usage.h"

namespace headlight::app {
namespace {

using SettingKind = AnySetting::Kind;

nlohmann::json written(const AnySetting& setting, const SettingValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return nullptr;
  if (setting.kind == SettingKind::Choice) return setting.text.options.at(setting.option_of(value)).name;
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<decltype(held), const std::monostate&>) {
          return nlohmann::json();
        } else {
          return nlohmann::json(held);
        }
      },
      value);
}

SettingValue read_value(const AnySetting& setting, const JsonReader& object, const char* name, const nlohmann::json& found) {
  const SettingText& text = setting.text;
  if (setting.may_be_none && found.is_null()) return {};
  const double least = !text.zero.empty() && found == 0.0 ? 0.0 : text.least;
  switch (setting.kind) {
    case SettingKind::Switch: {
      bool value = false;
      object.read(name, value);
      return value;
    }
    case SettingKind::Choice: {
      const std::vector<std::string> names = option_names(setting);
      const std::vector<std::string_view> views(names.begin(), names.end());
      return static_cast<std::int64_t>(object.read_choice(name, views).value());
    }
    case SettingKind::Whole:
      return JsonReader::integer(object.path(name), found, static_cast<std::int64_t>(least),
                                 static_cast<std::int64_t>(text.most));
    case SettingKind::Number: {
      float value = 0.0f;
      object.read(name, value, static_cast<float>(least), static_cast<float>(text.most));
      return double{value};
    }
    case SettingKind::Text:
      break;
  }
  std::string value;
  object.read(name, value);
  if (text.most > 0.0 && static_cast<double>(value.size()) > text.most)
    throw Error("{}: expected a text of at most {} characters, found {}", object.path(name), text.most, value.size());
  return value;
}

}  // namespace

std::vector<std::string> option_names(const AnySetting& setting) {
  std::vector<std::string> names;
  for (const Option& option : setting.text.options) names.emplace_back(option.name);
  return names;
}

nlohmann::json write_setting(const AnySetting& setting, const Choices& choices) {
  return written(setting, choices.value(setting));
}

void read_setting(const AnySetting& setting, const JsonReader& object, Choices& choices) {
  const char* name = setting.text.key.data();
  if (const nlohmann::json* found = object.find(name)) choices.put(setting, read_value(setting, object, name, *found));
}

std::string flag_value_name(const AnySetting& setting) {
  if (!setting.text.flag_value.empty()) return std::string(setting.text.flag_value);
  if (setting.kind == SettingKind::Switch) return "on|off";
  return setting.kind == SettingKind::Choice ? fmt::format("{}", fmt::join(option_names(setting), "|")) : "N";
}

std::string flag_help(const AnySetting& setting) {
  const SettingText& text = setting.text;
  return fmt::format(fmt::runtime(text.flag_help), fmt::arg("least", text.least), fmt::arg("most", text.most),
                     fmt::arg("usual", flag_text(setting, {})),
                     fmt::arg("names", fmt::format("{}", fmt::join(option_names(setting), ", "))));
}

std::string flag_text(const AnySetting& setting, const Choices& choices) {
  const nlohmann::json value = write_setting(setting, choices);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

SettingValue parse_setting(const AnySetting& setting, const std::string& flag, const std::string& typed) {
  const SettingText& text = setting.text;
  if (text.parse_flag) return text.parse_flag(flag, typed);
  if (setting.kind == SettingKind::Switch) return parse_switch(flag, typed);
  if (setting.kind == SettingKind::Choice)
    return static_cast<std::int64_t>(parse_choice(flag, typed, option_names(setting)));
  const auto least = static_cast<float>(text.least), most = static_cast<float>(text.most);
  if (setting.kind == SettingKind::Number) return double{parse_number(flag, typed, least, most)};
  if (setting.kind == SettingKind::Text) return typed;
  return static_cast<std::int64_t>(
      parse_integer(flag, typed, static_cast<std::uint64_t>(text.least), static_cast<std::uint64_t>(text.most)));
}

}  // namespace headlight::app
