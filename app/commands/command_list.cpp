#include "app/commands/command_list.h"

#include "core/error.h"

namespace headlight::app {
namespace {

std::vector<Command> join_groups() {
  using Group = std::pair<const char*, std::vector<Command> (*)()>;
  std::vector<Command> all;
  for (const auto& [name, table] :
       {Group{"Move", move_commands}, Group{"Mask", mask_commands}, Group{"Head", head_commands},
        Group{"Compare", compare_commands}, Group{"Edit", edit_commands}, Group{"File", file_commands},
        Group{"View", view_commands}, Group{"Panes", pane_commands}, Group{"Map", map_commands},
        Group{"Search", search_commands}, Group{"Find a head", find_commands}, Group{"Predictions", generation_commands},
        Group{"Steps of training", step_commands}, Group{"Help", help_commands}}) {
    for (Command& command : table()) {
      if (command.group.empty()) command.group = name;
      all.push_back(std::move(command));
    }
  }
  return all;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> kCommands = join_groups();
  return kCommands;
}

const Command& find_command(std::string_view id) {
  const auto found = std::ranges::find(commands(), id, &Command::id);
  if (found == commands().end()) throw Error("there is no command '{}'", id);
  return *found;
}

namespace {

/// Does the command need a network? A capture has nothing computed that a mask or a head's gain or pattern could change.
bool needs_network(const Command& command) { return command.id.starts_with("mask.") || command.id.starts_with("head."); }

}  // namespace

bool is_enabled(const Command& command, const CommandContext& context) {
  if (is_capture(context.state.source) && needs_network(command)) return false;
  if (context.window.is_loading_model() && !command.works_while_loading) return false;
  return !command.is_enabled || command.is_enabled(context);
}

std::string_view refusal_of(const Command& command, const CommandContext& context) {
  if (is_capture(context.state.source) && needs_network(command)) {
    return "A capture's weights are as they were saved: masks and heads are changed in a network.";
  }
  return command.refusal;
}

std::string_view keys_text(const Command& command) {
  return command.keys.empty() ? std::string_view() : command.keys.front().text;
}

}  // namespace headlight::app
