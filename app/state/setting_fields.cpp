#include <filesystem>

#include "app/state/block_settings.h"
#include "app/state/checkpoints_settings.h"
#include "app/state/corpus_settings.h"
#include "app/state/field_types.h"
#include "app/state/flow_settings.h"
#include "app/state/heads_settings.h"
#include "app/state/logits_settings.h"
#include "app/state/neuron_settings.h"
#include "app/state/predictions_settings.h"
#include "app/state/prompts_settings.h"
#include "app/state/side_by_side_settings.h"
#include "app/state/what_if_settings.h"

namespace headlight::app {

const std::vector<const SettingGroup*>& setting_groups() {
  static const std::vector<const SettingGroup*> kGroups = {
      &kNeuronView, &kBlockView,      &kPredictionsView, &kLogitsView,      &kFlowView,   &kHeadsView,
      &kWhatIfView, &kSideBySideView, &kCorpusView,      &kCheckpointsView, &kPromptsView};
  return kGroups;
}

void check_lens_flag(const std::string& flag, const std::string& text) {
  constexpr std::array<std::string_view, 4> kEndings = {".safetensors", ".pt", ".bin", ".pth"};
  const bool is_lens = std::ranges::any_of(kEndings, [&](auto end) { return text.ends_with(end); });
  if (!is_lens) throw UsageError("{}: expected a .safetensors or .pt file, found '{}'", flag, text);
}

void check_prompts_flag(const std::string& flag, const std::string& text) {
  const std::vector<std::string> names = {"ioi", "greater-than", "induction", "docstring", "subject-verb", "color"};
  std::error_code ignored;
  const bool is_lines = text.ends_with(".jsonl") || text.ends_with(".gz");
  if (!is_lines && std::filesystem::is_regular_file(text, ignored))
    throw UsageError("{}: {} doesn't end in .jsonl: a file of prompts has a JSON object a line", flag, text);
  if (!is_lines) parse_choice(flag, text, names);
}

namespace {

using SettingKind = AnySetting::Kind;

std::vector<std::string> option_names(const AnySetting& setting) {
  std::vector<std::string> names;
  for (const Option& option : setting.text.options) names.emplace_back(option.name);
  return names;
}

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
      return JsonReader::integer(object.path(name), found, static_cast<std::int64_t>(text.least),
                                 static_cast<std::int64_t>(text.most));
    case SettingKind::Number: {
      float value = 0.0f;
      object.read(name, value, static_cast<float>(text.least), static_cast<float>(text.most));
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

SettingValue parse_value(const AnySetting& setting, const std::string& flag, const std::string& typed) {
  const SettingText& text = setting.text;
  if (text.check_flag) text.check_flag(flag, typed);
  if (setting.kind == SettingKind::Switch) return parse_switch(flag, typed);
  if (setting.kind == SettingKind::Choice)
    return static_cast<std::int64_t>(parse_choice(flag, typed, option_names(setting)));
  const auto least = static_cast<float>(text.least), most = static_cast<float>(text.most);
  if (setting.kind == SettingKind::Number) return double{parse_number(flag, typed, least, most)};
  if (setting.kind == SettingKind::Text) return typed;
  return static_cast<std::int64_t>(
      parse_integer(flag, typed, static_cast<std::uint64_t>(text.least), static_cast<std::uint64_t>(text.most)));
}

Field field_of(const AnySetting& setting) {
  const SettingText& text = setting.text;
  Field field{.group = std::string(setting.group),
              .key = std::string(text.key),
              .label = std::string(text.undo),
              .is_continuous = text.is_continuous};
  field.write = [&setting](const State& state) { return written(setting, state.value(setting)); };
  field.read = [&setting](const JsonReader& object, const char* name, State& state) {
    if (const nlohmann::json* found = object.find(name)) state.put(setting, read_value(setting, object, name, *found));
  };
  field.is_same = [&setting](const State& a, const State& b) { return a.value(setting) == b.value(setting); };
  if (text.flag.empty()) return field;
  const std::string value_name = !text.flag_value.empty()              ? std::string(text.flag_value)
                                 : setting.kind == SettingKind::Switch ? "on|off"
                                 : setting.kind == SettingKind::Choice
                                     ? fmt::format("{}", fmt::join(option_names(setting), "|"))
                                     : "N";
  field.flag = {.name = std::string(text.flag),
                .value_name = value_name,
                .help = std::string(text.flag_help),
                .parse = [&setting](const std::string& flag, const std::string& typed) -> StateEdit {
                  SettingValue value = parse_value(setting, flag, typed);
                  return [&setting, value](State& state) { state.put(setting, value); };
                }};
  return field;
}

}  // namespace

void add_setting_fields(std::vector<Field>& fields) {
  for (const SettingGroup* group : setting_groups()) {
    for (const AnySetting* setting : group->settings) fields.push_back(field_of(*setting));
  }
}

}  // namespace headlight::app
