#include <filesystem>

#include "app/state/block_settings.h"
#include "app/state/checkpoints_settings.h"
#include "app/state/corpus_settings.h"
#include "app/state/dropout_settings.h"
#include "app/state/field_types.h"
#include "app/state/flow_settings.h"
#include "app/state/heads_settings.h"
#include "app/state/logits_settings.h"
#include "app/state/map_settings.h"
#include "app/state/neuron_settings.h"
#include "app/state/notebook_settings.h"
#include "app/state/predictions_settings.h"
#include "app/state/prompts_settings.h"
#include "app/state/setting_text.h"
#include "app/state/side_by_side_settings.h"
#include "app/state/what_if_settings.h"
#include "app/state/why_settings.h"
#include "inference/notebook_cells.h"

namespace headlight::app {

const std::vector<const SettingGroup*>& setting_groups() {
  static const std::vector<const SettingGroup*> kGroups = {
      &kDropout,        &kMapView,         &kBrush,           &kStepsView,   &kTextView,     &kNeuronView,
      &kBlockView,      &kPredictionsView, &kLogitsView,      &kFlowView,    &kHeadsView,    &kWhatIfView,
      &kSideBySideView, &kCorpusView,      &kCheckpointsView, &kPromptsView, &kNotebookView, &kWhyView};
  return kGroups;
}

std::vector<const SettingGroup*> effective_groups(const Choices& choices) {
  std::vector<const SettingGroup*> groups = setting_groups();
  std::erase_if(groups, [&](const SettingGroup* group) { return !group->add || group->words(choices).empty(); });
  return groups;
}

SettingValue parse_lens_flag(const std::string& flag, const std::string& text) {
  constexpr std::array<std::string_view, 4> kEndings = {".safetensors", ".pt", ".bin", ".pth"};
  const bool is_lens = std::ranges::any_of(kEndings, [&](auto end) { return text.ends_with(end); });
  if (!is_lens) throw UsageError("{}: expected a .safetensors or .pt file, found '{}'", flag, text);
  return text;
}

SettingValue parse_prompts_flag(const std::string& flag, const std::string& text) {
  const std::vector<std::string> names = {"ioi", "greater-than", "induction", "docstring", "subject-verb", "color"};
  std::error_code ignored;
  const bool is_lines = text.ends_with(".jsonl") || text.ends_with(".gz");
  if (!is_lines && std::filesystem::is_regular_file(text, ignored))
    throw UsageError("{}: {} doesn't end in .jsonl: a file of prompts has a JSON object a line", flag, text);
  if (!is_lines) parse_choice(flag, text, names);
  return text;
}

SettingValue parse_cell_flag(const std::string& flag, const std::string& text) {
  for (const inference::NotebookPage& page : inference::notebook_pages()) {
    if (std::ranges::find(page.cells, text, &inference::NotebookCell::id) != page.cells.end()) return text;
  }
  throw UsageError("{}: no notebook has a cell '{}'; the view Notebook lists them", flag, text);
}

namespace {

Field field_of(const AnySetting& setting) {
  const SettingText& text = setting.text;
  Field field{.group = std::string(setting.group),
              .key = std::string(text.key),
              .label = std::string(text.undo),
              .is_continuous = text.is_continuous,
              .changes_pass = setting.changes_pass};
  field.write = [&setting](const State& state) { return write_setting(setting, choices_of(state, setting)); };
  field.read = [&setting](const JsonReader& object, const char*, State& state) {
    read_setting(setting, object, choices_of(state, setting));
  };
  field.is_same = [&setting](const State& a, const State& b) {
    return choices_of(a, setting).value(setting) == choices_of(b, setting).value(setting);
  };
  if (text.flag.empty()) return field;
  field.flag = {.name = std::string(text.flag),
                .value_name = flag_value_name(setting),
                .help = flag_help(setting),
                .parse = [&setting](const std::string& flag, const std::string& typed) -> StateEdit {
                  SettingValue value = parse_setting(setting, flag, typed);
                  return [&setting, value](State& state) { choices_of(state, setting).put(setting, value); };
                }};
  return field;
}

}  // namespace

std::vector<Field> setting_fields() {
  std::vector<Field> fields;
  for (const SettingGroup* group : setting_groups()) {
    for (const AnySetting* setting : group->settings) fields.push_back(field_of(*setting));
  }
  return fields;
}

}  // namespace headlight::app
