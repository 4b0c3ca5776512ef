#include "app/cli/state_flags.h"

#include <cctype>

#include <fmt/ranges.h>

#include "app/models/starter_view.h"
#include "app/state/comparison.h"
#include "app/state/field_values.h"
#include "app/state/session_file.h"
#include "app/state/usage.h"
#include "app/views/view_table.h"
#include "core/error.h"

namespace headlight::app {
namespace {

std::vector<std::string> view_ids() {
  std::vector<std::string> ids;
  for (const View& view : views()) ids.emplace_back(view.id);
  return ids;
}

/// Returns "head: one head's map, large; steps: the attention of one head, …".
std::string view_help() {
  std::vector<std::string> lines;
  for (const View& view : views()) {
    std::string line(view.help.substr(0, view.help.find_last_not_of('.') + 1));
    line.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(line.front())));
    lines.push_back(fmt::format("{}: {}", view.id, line));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace

void take_field(const FlagGroup& group, const Field& field, std::vector<StateEdit>& edits) {
  const FieldFlag& flag = field.flag;
  group.add(flag.name, flag.value_name, flag.help,
            [&flag, &edits](const std::string& text) { edits.push_back(flag.parse(flag.name, text)); });
}

StateEdit parse_comparison(const std::string& flag, const std::string& text) {
  if (text == "trained") {
    return [](State& state) {
      State trained = state;
      restore_training(trained);
      state.compare.baseline = make_baseline(trained);
    };
  }
  const Result<State> session = load_session(text);
  if (!session) throw Error("{}: {}", flag, session.error());
  State other = *session;
  find_moved_model(other);
  return [baseline = make_baseline(other)](State& state) { state.compare.baseline = baseline; };
}

void StateFlags::add_to(CLI::App& app) {
  const FlagGroup group(app, "What is shown");
  const std::vector<std::string> ids = view_ids();
  for (const Field& field : state_fields()) {
    if (field.group == "view" && field.key == "tab") {  // which views there are the state doesn't know
      group.add("--tab", fmt::format("{}", fmt::join(ids, "|")), view_help(), [this, ids](const std::string& text) {
        const std::string& id = ids[parse_choice("--tab", text, ids)];
        edits_.push_back([id](State& state) { state.view.tab = id; });
      });
      continue;
    }
    const bool is_shown = field.group == "selection" || field.group == "view" || field.group == "patching" ||
                          std::ranges::find(setting_groups(), field.group, &SettingGroup::name) != setting_groups().end();
    if (!is_shown || field.changes_pass || field.flag.name.empty()) continue;
    take_field(group, field, edits_);
  }
  group.add("--compare-with", "FILE|trained",
            "show how the run differs from a saved session's, or from the same text with the model as it was trained",
            [this](const std::string& text) { edits_.push_back(parse_comparison("--compare-with", text)); });
  group.add(
      "--compare-text", "TEXT", "show how the run differs from that of a second text, of any length",
      [this](const std::string& text) { edits_.emplace_back([text](State& state) { compare_with_text(state, text); }); });
}

void StateFlags::apply(State& state) const {
  for (const auto& edit : edits_) edit(state);
}

}  // namespace headlight::app
