#pragma once

#include "app/commands/command_host.h"
#include "app/shell/input.h"
#include "app/state/transient.h"

namespace headlight::app {

/// The state that a command reads and changes.
struct CommandContext {
  State& state;
  Transient& transient;
  const BlockShapes& shapes;  ///< of the run on screen; empty: there is none
  CommandHost& window;
};

/// The place of a command in the menu bar. Lines separate the sections of a menu and the parts of a submenu; both are in
/// ascending order, and inside them commands keep the order of the table.
struct MenuEntry {
  std::string menu = {};     ///< "View"; empty: in no menu
  std::string label = {};    ///< shorter than Command::label where the menu says the rest: "Raw scores"
  int section = 0;           ///< of the menu; for a submenu's commands: of the submenu
  std::string submenu = {};  ///< "Map"; empty: in the menu itself
  int part = 0;              ///< of the submenu
};

/// Something that the user can start. Keys, menus, the palette and the list under F1 all walk commands().
struct Command {
  std::string id;          ///< "mask.causal", unique
  std::string label;       ///< what it does: "Causal mask on or off"
  std::string group = {};  ///< heading of the list under F1: "Mask"; empty: its table's (command_list.cpp)
  std::string help;        ///< one sentence: the menu entry's tooltip
  /// The labels of buttons that do the same, or that are where the command leads, separated by commas: the palette finds it
  /// by them.
  std::string words = {};
  std::vector<shell::Shortcut> keys = {};
  MenuEntry menu = {};
  bool works_while_loading = false;  ///< also while the model on screen isn't yet the one that the state names
  bool works_in_popups = false;      ///< its keys work while a dialog or a menu is open
  std::uint8_t menus_of = 0;         ///< whose context menus offer it: bits of MenuTarget

  std::function<void(const CommandContext&)> run;
  std::function<bool(const CommandContext&)> is_enabled = {};  ///< none: always
  std::function<bool(const CommandContext&)> is_checked = {};  ///< has the menu entry a tick? none: never
  /// Its current target, after the label in menus and the palette: "Edit text" of an undo. May be none.
  std::function<std::string(const CommandContext&)> object = {};
  /// Says in the status line what it has done to masks or gains: "Layer 1 · head 4 knocked out". `is_changed`: masks or
  /// gains differ from before. None, or an empty text: nothing is said.
  std::function<std::string(const State& after, bool is_changed)> tell = {};
  /// The status line's sentence when the command's key is pressed while it is not enabled; empty: nothing.
  std::string refusal = {};
};

/// Returns what a command does that calls a function of the window, or asks it.
template <typename Function, typename... Arguments>
auto of_window(Function function, Arguments... arguments) {
  return [=](const CommandContext& context) { return (context.window.*function)(arguments...); };
}

/// Is a run on screen?
inline bool has_run(const CommandContext& context) { return !context.shapes.empty(); }

/// Is a cell of its map pinned?
inline bool has_pin(const CommandContext& context) { return has_run(context) && context.state.view.pinned.has_value(); }

/// May it run now?
bool is_enabled(const Command& command, const CommandContext& context);

/// Returns the status line's sentence when the command's key is pressed while it is not enabled; empty: nothing.
std::string_view refusal_of(const Command& command, const CommandContext& context);

/// Returns the first key as menus show it; empty: it has none.
std::string_view keys_text(const Command& command);

}  // namespace headlight::app
