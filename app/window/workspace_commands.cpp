#include <algorithm>
#include <string>
#include <utility>

#include <imgui.h>

#include "app/commands/command_list.h"
#include "app/views/view_table.h"
#include "app/window/frame_guard.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

constexpr double kToast_s = 6.0;  // that a toast is there

/// Do they mask or scale otherwise, or show another model?
bool has_other_model(const State& a, const State& b) {
  return a.gains != b.gains || a.patterns != b.patterns || a.changes != b.changes || a.masks != b.masks ||
         !names_same(a.source, b.source);
}

/// Folds what the view on screen has unfolded; false: nothing.
bool fold_view(State& state) {
  const View& view = find_view(state.view.tab);
  return view.fold && view.fold(state);
}

}  // namespace

CommandContext Workspace::command_context() {
  return {.state = state_, .transient = transient_, .shapes = result_.shapes, .window = *this};
}

void Workspace::handle_keys() {
  // One key does one thing; what is typed into a text field never arrives here.
  for (const Command& command : commands()) {
    const auto is_pressed = [&](const shell::Shortcut& key) { return ui_.is_pressed(key.key, key.modifiers); };
    if (std::ranges::none_of(command.keys, is_pressed)) continue;
    const bool has_popup = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
    if (has_popup && !command.works_in_popups) continue;
    run(command);
  }
}

void Workspace::run(const Command& command) {
  const CommandContext context = command_context();
  if (!is_enabled(command, context)) {
    const std::string_view refusal = refusal_of(command, context);
    if (!is_loading_model() && !refusal.empty()) tell(std::string(refusal), state_);
    return;
  }
  if (!command.tell) {
    command.run(context);
  } else {
    State before = state_;
    command.run(context);
    std::string text = command.tell(state_, has_other_model(before, state_));
    if (!text.empty()) tell(std::move(text), std::move(before));
  }
  ui_.request_redraw(2);
}

void Workspace::run(std::string_view id) { run(find_command(id)); }

void Workspace::run_posted() {
  for (const std::string_view id : std::exchange(posted_, {})) run(id);
  if (const auto chosen = std::exchange(chosen_, {})) chosen();
}

void Workspace::copy_cell() { copies_cell_ = true; }

void Workspace::copy_figure() { export_dialog_.copy_figure(state_, transient_, result_, result_.device); }

void Workspace::toggle_sidebar() {
  if (std::exchange(is_presenting_, false)) return;  // which folds it
  app::toggle_sidebar(settings_.panes, layout_);
}

void Workspace::toggle_grid() {
  if (std::exchange(is_presenting_, false)) return;
  app::toggle_grid(settings_.panes, layout_);
}

void Workspace::toggle_welcome() {
  settings_.shows_welcome = !settings_.shows_welcome;
  welcome_memory_ = {};
}

void Workspace::write_text() {
  settings_.panes.is_text_open = true;
  is_presenting_ = false;
  if (!layout_.has_sidebar()) toggle_sidebar();
  transient_.text_focus = TextFocus::AtEnd;
  ui_.skip_text_of_key();
}

void Workspace::dismiss() {
  const bool has_dialog = shows_help_ || shows_history_ || shows_about_ || transient_.asked_number || palette_.is_open() ||
                          export_dialog_.is_open() || file_dialog_.is_open() || model_browser_.is_open();
  shows_help_ = shows_about_ = shows_history_ = false;
  transient_.asked_number.reset();
  palette_.close();
  export_dialog_.close();
  file_dialog_.close();
  model_browser_.close();
  if (close_popups() || has_dialog) return;
  if (is_arriving() || result_.first_layers > 0) return give_up_loading();
  if (engine_->pass_progress()) return engine_->cancel_load();
  if (generation_.is_running()) return stop_generating();
  if (transient_.search.is_open) {
    transient_.search.is_open = false;
  } else if (transient_.paints) {
    transient_.paints = false;
  } else if (toast_.is_shown()) {
    toast_ = {};
  } else if (notice_.is_shown()) {
    notice_ = {};
  } else if (settings_.shows_welcome) {
    settings_.shows_welcome = false;
  } else if (fold_view(state_)) {
    return;
  } else if (is_presenting_) {
    is_presenting_ = false;
  } else if (transient_.range) {
    transient_.range.reset();
  } else if (state_.view.locked) {
    state_.view.locked.reset();
  } else {
    state_.view.pinned.reset();
  }
}

void Workspace::tell(std::string text, State before) {
  toast_ = {.text = std::move(text), .until_s = last_frame_s_ + kToast_s, .can_undo = has_other_model(before, state_)};
  told_before_ = std::move(before);
  told_after_ = state_;
  told_step_.reset();
  ui_.request_redraw(2);
}

void Workspace::forget_toast(double now_s) {
  if (!toast_.is_shown()) return;
  if (!told_step_) told_step_ = undo_.shown_id();
  // What it says is no longer so, or it was there long enough.
  if (has_other_model(told_after_, state_) || now_s >= toast_.until_s) {
    toast_ = {};
    ui_.request_redraw(2);  // this frame has drawn it
  }
}

void Workspace::take_back() {
  if (told_step_ == undo_.shown_id()) {
    undo_change();
  } else {  // something that leaves the model alone came after it, and stays
    state_.masks = told_before_.masks;
    state_.gains = told_before_.gains;
    state_.patterns = told_before_.patterns;
    state_.changes = told_before_.changes;
  }
  toast_ = {};
  ui_.request_redraw(2);
}

}  // namespace headlight::app
