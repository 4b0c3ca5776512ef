#include "app/commands/actions.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace headlight::app {
namespace {

using shell::kControl;
using shell::kControlShift;
using shell::Key;
using shell::kShift;

constexpr std::array kShortcuts = {
    Shortcut{Action::PreviousHead, Key::Left, {}, "Left", "Previous head", "Move"},
    Shortcut{Action::NextHead, Key::Right, {}, "Right", "Next head", "Move"},
    Shortcut{Action::PreviousLayer, Key::Up, {}, "Up", "Previous layer", "Move"},
    Shortcut{Action::NextLayer, Key::Down, {}, "Down", "Next layer", "Move"},
    Shortcut{Action::PreviousItem, Key::PageUp, {}, "Page Up", "Previous line of the batch", "Move"},
    Shortcut{Action::NextItem, Key::PageDown, {}, "Page Down", "Next line of the batch", "Move"},
    Shortcut{Action::ToggleCausal, Key::C, {}, "C", "Causal mask on or off", "Mask"},
    Shortcut{Action::TogglePadding, Key::P, {}, "P", "Padding mask on or off", "Mask"},
    Shortcut{Action::Paint, Key::B, {}, "B", "Take up the brush, or lay it down", "Mask"},
    Shortcut{Action::ResetMasks, Key::R, kControlShift, "Ctrl+Shift+R", "Reset the masks", "Mask"},
    Shortcut{Action::KnockOut, Key::K, {}, "K", "Knock the head out, or bring it back", "Head"},
    Shortcut{Action::WriteText, Key::Slash, {}, "/", "Write into the text box", "Edit"},
    Shortcut{Action::WriteText, Key::L, kControl, "Ctrl+L", "Write into the text box", "Edit"},
    Shortcut{Action::Undo, Key::Z, kControl, "Ctrl+Z", "Undo", "Edit"},
    Shortcut{Action::Redo, Key::Y, kControl, "Ctrl+Y", "Redo", "Edit"},
    Shortcut{Action::Redo, Key::Z, kControlShift, "Ctrl+Shift+Z", "Redo", "Edit"},
    Shortcut{Action::OpenModel, Key::O, kControl, "Ctrl+O", "Open a model", "File"},
    Shortcut{Action::Export, Key::E, kControl, "Ctrl+E", "Export", "File"},
    Shortcut{Action::CopyFigure, Key::C, kControlShift, "Ctrl+Shift+C", "Copy the map as a picture", "File"},
    Shortcut{Action::CopyCell, Key::C, kControl, "Ctrl+C", "Copy the pinned cell's numbers", "File"},
    Shortcut{Action::SaveScreenshot, Key::S, kControlShift, "Ctrl+Shift+S", "Save a screenshot", "File"},
    Shortcut{Action::Quit, Key::Q, kControl, "Ctrl+Q", "Quit", "File"},
    Shortcut{Action::ShowHead, Key::Digit1, {}, "1", "Show the head", "View"},
    Shortcut{Action::ShowSteps, Key::Digit2, {}, "2", "Show the steps", "View"},
    Shortcut{Action::ShowPredictions, Key::Digit3, {}, "3", "Show the predictions", "View"},
    Shortcut{Action::ToggleSidebar, Key::B, kControl, "Ctrl+B", "Fold or open the left panel", "View"},
    Shortcut{Action::ToggleGrid, Key::G, kControl, "Ctrl+G", "Fold or open the right panel", "View"},
    Shortcut{Action::ToggleTheme, Key::T, {}, "T", "Light or dark", "View"},
    Shortcut{Action::LargerUi, Key::Equal, kControl, "Ctrl++", "Larger interface", "View"},
    Shortcut{Action::LargerUi, Key::Equal, kControlShift, "", "Larger interface", "View"},
    Shortcut{Action::SmallerUi, Key::Minus, kControl, "Ctrl+-", "Smaller interface", "View"},
    Shortcut{Action::ResetUiScale, Key::Digit0, kControl, "Ctrl+0", "Interface as the monitor asks", "View"},
    Shortcut{Action::Dismiss, Key::Escape, {}, "Esc", "Leave the text or brush, close, unpin", "Help"},
    Shortcut{Action::ShowWelcome, Key::F2, {}, "F2", "Welcome panel (Tab, Enter: choose)", "Help"},
    Shortcut{Action::ShowShortcuts, Key::F1, {}, "F1", "Keys and words", "Help"},
};

constexpr std::array kUiScales = {0.5F, 0.67F, 0.8F, 0.9F, 1.0F, 1.1F, 1.25F, 1.5F, 1.75F, 2.0F, 2.5F, 3.0F, 4.0F};

float next_scale(float scale) {
  const float from = scale > 0.0F ? scale : 1.0F;
  const auto* found = std::upper_bound(kUiScales.begin(), kUiScales.end(), from + 0.005F);
  return found == kUiScales.end() ? kUiScales.back() : *found;
}

float previous_scale(float scale) {
  const float from = scale > 0.0F ? scale : 1.0F;
  const auto* found = std::lower_bound(kUiScales.begin(), kUiScales.end(), from - 0.005F);
  return found == kUiScales.begin() ? kUiScales.front() : *std::prev(found);
}

/// The block `steps` further in the order of the shapes (kind by kind, layer by layer); stops at the ends.
model::BlockRef block_beside(const BlockShapes& shapes, model::BlockRef block, int steps) {
  const auto found = shapes.find(block);
  if (found == shapes.end()) return block;
  if (steps < 0) return found == shapes.begin() ? block : std::prev(found)->first;
  return std::next(found) == shapes.end() ? block : std::next(found)->first;
}

void move(State& state, const BlockShapes& shapes, Action action) {
  Selection& selection = state.selection;
  const auto shape = shapes.find(selection.block);
  if (shape == shapes.end()) return;
  const std::uint32_t last_head = std::max(shape->second.heads, 1U) - 1;
  const std::uint32_t last_item = std::max(shape->second.batch, 1U) - 1;
  switch (action) {
    case Action::PreviousHead:
      selection.head -= selection.head > 0 ? 1 : 0;
      break;
    case Action::NextHead:
      selection.head = std::min(selection.head + 1, last_head);
      break;
    case Action::PreviousItem:
      selection.batch -= selection.batch > 0 ? 1 : 0;
      break;
    case Action::NextItem:
      selection.batch = std::min(selection.batch + 1, last_item);
      break;
    case Action::PreviousLayer:
      selection.block = block_beside(shapes, selection.block, -1);
      break;
    default:
      selection.block = block_beside(shapes, selection.block, 1);
      break;
  }
  const bool names_head = action == Action::PreviousHead || action == Action::NextHead;
  if (names_head) selection.mean = HeadMean::None;
  clamp_selection(state, shapes);
}

void knock_out(State& state, const BlockShapes& shapes) {
  const Selection& selection = state.selection;
  const auto shape = shapes.find(selection.block);
  if (shape == shapes.end() || shape->second.d_output == 0) return;  // without an output projection it would do nothing
  const float gain = head_gain(state, selection.block, selection.head);
  set_head_gain(state, selection.block, selection.head, gain == 0.0F ? 1.0F : 0.0F);
}

/// Whose mask it is, where "the mask" would leave it open.
const char* kind_suffix(model::BlockKind kind) {
  switch (kind) {
    case model::BlockKind::EncoderSelf:
      return "";
    case model::BlockKind::DecoderSelf:
      return " in the decoder";
    case model::BlockKind::Cross:
      break;
  }
  return " in the cross-attention";
}

}  // namespace

std::string describe_action(Action action, const State& after, bool is_changed) {
  const Selection& selection = after.selection;
  const attention::MaskRule& rule = selected_mask(after).rule;
  const char* suffix = kind_suffix(selection.block.kind);
  switch (action) {
    case Action::KnockOut:
      if (!is_changed) return "No head can be knocked out here: there is no output projection";
      return fmt::format("Layer {} · head {} {}", selection.block.layer.value, selection.head,
                         head_gain(after, selection.block, selection.head) == 0.0F ? "knocked out" : "brought back");
    case Action::ToggleCausal:
      return fmt::format("Causal mask {}{}", rule.causal ? "on" : "off", suffix);
    case Action::TogglePadding:
      return fmt::format("Padding mask {}{}", rule.key_padding ? "on" : "off", suffix);
    case Action::ResetMasks:
      return is_changed ? "Masks reset" : "The masks are reset already";
    case Action::ResetModel:
      return is_changed ? "Masks and heads reset" : "";
    default:
      return {};
  }
}

std::span<const Shortcut> shortcuts() { return kShortcuts; }

std::string_view keys_of(Action action) {
  const auto* found = std::ranges::find(kShortcuts, action, &Shortcut::action);
  return found == kShortcuts.end() ? std::string_view() : found->keys;
}

bool apply_action(Action action, State& state, const BlockShapes& shapes) {
  switch (action) {
    case Action::PreviousHead:
    case Action::NextHead:
    case Action::PreviousLayer:
    case Action::NextLayer:
    case Action::PreviousItem:
    case Action::NextItem:
      move(state, shapes, action);
      return true;
    case Action::ShowHead:
      state.view.tab = Tab::Head;
      return true;
    case Action::ShowSteps:
      state.view.tab = Tab::Steps;
      return true;
    case Action::ShowPredictions:
      state.view.tab = Tab::Predictions;
      return true;
    case Action::KnockOut:
      knock_out(state, shapes);
      return true;
    case Action::ToggleCausal:
      selected_mask(state).rule.causal ^= true;
      return true;
    case Action::TogglePadding:
      selected_mask(state).rule.key_padding ^= true;
      return true;
    case Action::ResetMasks:
      reset_masks(state);
      return true;
    case Action::ResetModel:
      reset_masks(state);
      state.gains.clear();
      return true;
    case Action::ToggleTheme:
      state.view.theme = state.view.theme == Theme::Dark ? Theme::Light : Theme::Dark;
      return true;
    case Action::LargerUi:
      state.view.ui_scale = next_scale(state.view.ui_scale);
      return true;
    case Action::SmallerUi:
      state.view.ui_scale = previous_scale(state.view.ui_scale);
      return true;
    case Action::ResetUiScale:
      state.view.ui_scale = 0.0F;
      return true;
    default:
      return false;
  }
}

}  // namespace headlight::app
