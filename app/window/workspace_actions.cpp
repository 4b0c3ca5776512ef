#include <string>
#include <utility>

#include <imgui.h>

#include "app/window/frame_guard.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

constexpr double kToast_s = 6.0;  // that a toast is there

/// Do they mask or scale otherwise, or show another model?
bool has_other_model(const State& a, const State& b) {
  return a.gains != b.gains || a.masks != b.masks || a.model.path != b.model.path || a.preset != b.preset;
}

/// Does it concern no run, so that it may happen while a model is being loaded?
bool needs_no_run(Action action) {
  switch (action) {
    case Action::Undo:
    case Action::Redo:
    case Action::OpenModel:
    case Action::SaveScreenshot:
    case Action::Quit:
    case Action::ToggleSidebar:
    case Action::ToggleGrid:
    case Action::ToggleTheme:
    case Action::LargerUi:
    case Action::SmallerUi:
    case Action::ResetUiScale:
    case Action::ShowWelcome:
    case Action::ShowShortcuts:
    case Action::ShowAbout:
    case Action::Dismiss:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Workspace::handle_keys() {
  // One key does one thing; what is typed into a text field never arrives here.
  for (const Shortcut& shortcut : shortcuts()) {
    if (!ui_.is_pressed(shortcut.key, shortcut.modifiers)) continue;
    const bool has_popup = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
    if (is_arriving() && !needs_no_run(shortcut.action)) continue;
    if (has_popup && shortcut.action != Action::Dismiss && shortcut.action != Action::ShowShortcuts) continue;
    act(shortcut.action);
  }
}

void Workspace::act(Action action) {
  State before = state_;
  if (apply_action(action, state_, result_.shapes)) return tell(action, std::move(before));
  switch (action) {
    case Action::Undo:
      state_ = undo_.undo();
      break;
    case Action::Redo:
      state_ = undo_.redo();
      break;
    case Action::OpenModel:
      browse_models();
      break;
    case Action::Export:
      export_dialog_.open(state_.view);
      break;
    case Action::CopyFigure:
      export_dialog_.copy_figure(state_, result_, result_.device);
      break;
    case Action::CopyCell:
      copies_cell_ = state_.view.pinned.has_value();
      if (!copies_cell_) notice_ = {.text = "No cell is pinned: click one, then copy it."};
      break;
    case Action::SaveScreenshot:
      screenshot_dialog_.open(settings_.export_directory);
      break;
    case Action::Quit:
      wants_to_quit_ = true;
      break;
    case Action::ToggleSidebar:
      toggle_sidebar(settings_.panes, layout_);
      break;
    case Action::ToggleGrid:
      toggle_grid(settings_.panes, layout_);
      break;
    case Action::ShowWelcome:
      settings_.shows_welcome = !settings_.shows_welcome;
      welcome_memory_ = {};
      break;
    case Action::Paint:
      if (state_.view.tab != Tab::Head) transient_.paints = false;
      transient_.paints = !transient_.paints;
      state_.view.tab = Tab::Head;
      break;
    case Action::WriteText:
      settings_.panes.is_text_open = true;
      if (!layout_.has_sidebar()) toggle_sidebar(settings_.panes, layout_);
      transient_.text_focus = TextFocus::AtEnd;
      ui_.skip_text_of_key();
      break;
    case Action::ShowShortcuts:
      shows_shortcuts_ = !shows_shortcuts_;
      break;
    case Action::ShowAbout:
      shows_about_ = true;
      break;
    case Action::Dismiss:
      dismiss();
      break;
    default:
      break;
  }
  ui_.request_redraw(2);
}

void Workspace::dismiss() {
  const bool has_dialog = shows_shortcuts_ || shows_about_ || export_dialog_.is_open() || screenshot_dialog_.is_open() ||
                          model_browser_.is_open();
  shows_shortcuts_ = shows_about_ = false;
  export_dialog_.close();
  screenshot_dialog_.close();
  model_browser_.close();
  if (close_popups() || has_dialog) return;
  if (is_arriving()) return give_up_loading();
  if (generation_.is_running()) return stop_generating();
  if (transient_.paints) {
    transient_.paints = false;
  } else if (toast_.is_shown()) {
    toast_ = {};
  } else if (notice_.is_shown()) {
    notice_ = {};
  } else if (settings_.shows_welcome) {
    settings_.shows_welcome = false;
  } else {
    state_.view.pinned.reset();
  }
}

void Workspace::tell(Action action, State before) {
  std::string text = describe_action(action, state_, has_other_model(before, state_));
  if (text.empty()) return;
  toast_ = {.text = std::move(text), .until_s = last_frame_s_ + kToast_s, .can_undo = has_other_model(before, state_)};
  told_before_ = std::move(before);
  told_after_ = state_;
  told_step_.reset();
  ui_.request_redraw(2);
}

void Workspace::forget_toast(double now_s) {
  if (!toast_.is_shown()) return;
  if (!told_step_) told_step_ = undo_.position();
  // What it says is no longer so, or it was there long enough.
  if (has_other_model(told_after_, state_) || now_s >= toast_.until_s) {
    toast_ = {};
    ui_.request_redraw(2);  // this frame has drawn it
  }
}

void Workspace::take_back() {
  if (told_step_ == undo_.position()) {
    act(Action::Undo);
  } else {  // something that leaves the model alone came after it, and stays
    state_.masks = told_before_.masks;
    state_.gains = told_before_.gains;
  }
  toast_ = {};
  ui_.request_redraw(2);
}

}  // namespace headlight::app
