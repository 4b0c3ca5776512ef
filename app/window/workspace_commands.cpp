
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
  return a.gains != b.gains || a.patterns != b.patterns || a.changes != b.changes || a.dropout != b.dropout ||
         a.masks != b.masks || !names_same(a.source, b.source);
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

void Workspace::handle_keys(double now_s) {
  end_typed_row(now_s);
  if (typed_row_.is_text()) answer_typed_offer();
  // One key does one thing; what is typed into a text field never arrives here.
  const std::size_t waiting_before = waiting_.size();
  for (const Command& command : commands()) {
    const auto is_pressed = [&](const shell::Shortcut& key) { return ui_.is_pressed(key.key, key.modifiers); };
    const auto key = std::ranges::find_if(command.keys, is_pressed);
    if (key == command.keys.end()) continue;
    if (has_popup() && !command.works_in_popups) continue;
    const bool types = shell::types_character({.key = key->key, .modifiers = key->modifiers});
    if (types && frames_until_text_field_ > 0) continue;
    const bool opens_text = key->key == shell::Key::Slash && typed_row_.is_empty();  // what follows is typed into its box
    if (types && !opens_text && !ui_.typed().empty()) {
      waiting_.push_back(&command);
    } else {
      run(command);
    }
  }
  follow_typed_row(waiting_.size() - waiting_before, now_s);
  frames_until_text_field_ = std::max(frames_until_text_field_ - 1, 0);
}

void Workspace::end_typed_row(double now_s) {
  if (typed_row_.is_empty() || !typed_row_.has_ended(now_s)) return;
  for (const Command* command : std::exchange(waiting_, {})) run(*command);
  typed_row_ = {};
  ui_.request_redraw(2);
}

void Workspace::follow_typed_row(std::size_t shortcuts, double now_s) {
  const std::string_view typed = ui_.typed();
  const bool is_elsewhere = frames_until_text_field_ > 0 || (typed_row_.is_empty() && has_popup());
  if (!typed.empty() && !is_elsewhere) {
    if (typed_row_.is_empty()) {
      before_typed_row_ = {
          .state = state_, .step = undo_.shown_id(), .paints = transient_.paints, .asked_number = transient_.asked_number};
    }
    const bool was_text = typed_row_.is_text();
    typed_row_.add(ui_.unshaped(typed), shortcuts, now_s);
    if (typed_row_.is_text() && !was_text) take_back_typed_row();
    if (typed_row_.may_be_text()) ui_.drop_typed_keys();
    ui_.request_redraw(2);
  }
  if (typed_row_.is_text()) waiting_.clear();
  if (waiting_.empty() || !typed_row_.may_run(now_s)) return;
  for (const Command* command : std::exchange(waiting_, {})) run(*command);
}

void Workspace::take_back_typed_row() {
  if (undo_.shown_id() != before_typed_row_.step) static_cast<void>(undo_.go_to(before_typed_row_.step));
  state_ = before_typed_row_.state;
  transient_.paints = before_typed_row_.paints;
  transient_.asked_number = before_typed_row_.asked_number;
  toast_ = {};
  ui_.keyboard().end();  // Enter and Space answer the offer
}

void Workspace::answer_typed_offer() {
  TypedOfferChoice answer = std::exchange(typed_answer_, TypedOfferChoice::None);
  if (ui_.take_key(shell::Key::Escape)) answer = TypedOfferChoice::Leaves;
  if (has_text_box() && ui_.take_key(shell::Key::Enter)) {
    answer = ui_.modifiers().shift ? TypedOfferChoice::Replaces : TypedOfferChoice::Adds;
  }
  if (ui_.take_key(shell::Key::Backspace)) typed_row_.erase_last();
  if (answer == TypedOfferChoice::Adds || answer == TypedOfferChoice::Replaces) {
    std::string& text = state_.text();
    if (answer == TypedOfferChoice::Replaces) text.clear();
    if (!text.empty() && text.back() != ' ' && text.back() != '\n') text += ' ';
    text += typed_row_.text();
    ui_.ensure_glyphs(text);
    if (is_model(state_.source)) state_.model().ids.clear();
    write_text();
  }
  if (answer != TypedOfferChoice::None || typed_row_.is_empty()) typed_row_ = {};
}

bool Workspace::has_text_box() const {
  if (is_playground(state_.source)) return true;
  return is_model(state_.source) && !(result_.model && !result_.model->tokenizer);
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
  if (is_presenting_ && lessons_.is_open()) {
    is_card_folded_ = !is_card_folded_;
    return ui_.request_redraw(2);
  }
  if (std::exchange(is_presenting_, false)) return;  // which folds it
  app::toggle_sidebar(settings_.panes, layout_);
}

void Workspace::toggle_grid() {
  if (std::exchange(is_presenting_, false)) return;
  app::toggle_grid(settings_.panes, layout_);
  // A view of all heads leaves the grid folded until it is opened by choice.
  const bool folds_it = find_view(state_.view.tab).shows_all_heads && !layout_.has_grid();
  if (folds_it && settings_.panes.grid_fold == Fold::Automatic) settings_.panes.grid_fold = Fold::Open;
}

void Workspace::toggle_welcome() {
  settings_.shows_welcome = !settings_.shows_welcome;
  welcome_memory_ = {};
}

void Workspace::open_text_section() {
  settings_.panes.is_text_open = true;
  is_presenting_ = false;
  if (!layout_.has_sidebar()) toggle_sidebar();
  frames_until_text_field_ = 3;
  ui_.skip_text_of_key();
}

void Workspace::write_text() {
  open_text_section();
  transient_.text_focus = TextFocus::AtEnd;
}

void Workspace::focus_second_text() {
  open_text_section();
  transient_.focuses_second_text = true;
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
    state_.dropout = told_before_.dropout;
  }
  toast_ = {};
  ui_.request_redraw(2);
}

}  // namespace headlight::app
