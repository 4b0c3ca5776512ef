#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/engine/engine.h"
#include "app/shell/input.h"
#include "app/state/state.h"

namespace headlight::app {

/// Everything that a key or a menu entry starts. Keys, menus and the list under F1 read the same table.
enum class Action : std::uint8_t {
  PreviousHead,
  NextHead,
  PreviousLayer,
  NextLayer,
  PreviousItem,
  NextItem,
  ShowHead,
  ShowSteps,
  ShowPredictions,
  ToggleCausal,
  TogglePadding,
  ResetMasks,
  Paint,  ///< takes up the brush, or lays it down
  KnockOut,
  ResetModel,  ///< masks and gains as the model was trained with
  WriteText,   ///< the first text box takes the keyboard
  Undo,
  Redo,
  OpenModel,
  Export,
  CopyFigure,
  CopyCell,
  SaveScreenshot,
  Quit,
  ToggleSidebar,
  ToggleGrid,
  ToggleTheme,
  LargerUi,
  SmallerUi,
  ResetUiScale,
  ShowWelcome,  ///< or closes it
  ShowShortcuts,
  ShowAbout,
  Dismiss,  ///< leaves the text, lays the brush down, closes what is open, else unpins the cell
};

/// A key for an action. An action may have several; the first is the one that menus show.
struct Shortcut {
  Action action;
  shell::Key key;
  shell::Modifiers modifiers;
  std::string_view keys;   ///< as people read it: "Ctrl+Shift+Z"
  std::string_view label;  ///< what it does: "Next head"
  std::string_view group;  ///< heading in the list: "Move", "Mask", …
};

/// Every shortcut, in the order of the list under F1.
std::span<const Shortcut> shortcuts();
/// The keys that menus show beside an action; empty when it has none.
std::string_view keys_of(Action action);

/// Does what concerns the state alone; false when the action is the viewer's (export, undo, quit, …). `shapes` are the
/// blocks of the run on screen: moving stops at their edges.
bool apply_action(Action action, State& state, const BlockShapes& shapes);

/// What an action has just done to masks or gains, for a short notice: "Layer 1 · head 4 knocked out". Empty for actions
/// that leave the model alone. `is_changed`: the action had an effect.
std::string describe_action(Action action, const State& after, bool is_changed);

}  // namespace headlight::app
