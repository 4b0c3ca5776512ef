#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/commands/command.h"

namespace headlight::app {

/// Returns a command that gives one of the view's choices one of its values.
template <typename Value>
// NOLINTNEXTLINE(performance-unnecessary-value-param): they are moved, which clang-tidy 14 doesn't see in a template
Command view_choice(std::string id, std::string label, std::string help, MenuEntry menu, Value ViewChoices::*member,
                    Value value) {
  return {.id = std::move(id),
          .label = std::move(label),
          .help = std::move(help),
          .menu = std::move(menu),
          .works_while_loading = true,
          .run = [member, value](const CommandContext& context) { context.state.view.*member = value; },
          .is_checked = [member, value](const CommandContext& context) { return context.state.view.*member == value; }};
}

/// Returns a command of the menu View that switches a setting on or off, with the setting's words.
inline Command setting_toggle(std::string id, const Setting<bool>& setting, std::string submenu = {}) {
  const SettingText& text = setting.text;
  return {.id = std::move(id),
          .label = std::string(text.label),
          .help = std::string(text.help),
          .menu = {"View", std::string(text.label), 1, std::move(submenu)},
          .works_while_loading = true,
          .run = [&setting](const CommandContext& context) { context.state.set(setting, !context.state[setting]); },
          .is_checked = [&setting](const CommandContext& context) { return context.state[setting]; }};
}

// Each file has one table. commands() joins them in the order of command_list.cpp and keeps them.
std::vector<Command> move_commands();
std::vector<Command> mask_commands();
std::vector<Command> head_commands();
std::vector<Command> compare_commands();
std::vector<Command> edit_commands();
std::vector<Command> file_commands();
std::vector<Command> view_commands();
std::vector<Command> pane_commands();
std::vector<Command> map_commands();
std::vector<Command> search_commands();
std::vector<Command> find_commands();
std::vector<Command> generation_commands();
std::vector<Command> step_commands();
std::vector<Command> help_commands();

/// Returns every command, group by group in the order of the list under F1.
std::span<const Command> commands();

/// Returns the command with this id. Throws Error when there is none.
const Command& find_command(std::string_view id);

}  // namespace headlight::app
