#include <imgui.h>

#include "app/commands/command_list.h"
#include "app/views/view_table.h"
#include "app/widgets/controls.h"
#include "app/window/frame_guard.h"
#include "app/window/workspace.h"

namespace headlight::app {
namespace {

constexpr double kToast_s = 6.0;  // that a toast is there

/// Do they mask or scale otherwise, or show another model?
bool has_other_model(const State& a, const State& b) { return a.pass() != b.pass() || !names_same(a.source, b.source); }

/// Folds what the view on screen has unfolded; false: nothing.
bool fold_view(State& state) {
  const View& view = find_view(state.view.tab);
  return view.fold && view.fold(state);
}

}  // namespace

CommandContext Workspace::command_context() {
  return {.state = desk_.state, .transient = desk_.transient, .shapes = desk_.result.shapes, .window = *this};
}

void Workspace::handle_keys(double now_s) {
  end_typed_row(now_s);
  if (typed_row_.is_text()) answer_typed_offer();
  if (ImGui::IsMouseClicked(static_cast<int>(shell::MouseButton::Back))) run("view.back");
  if (ImGui::IsMouseClicked(static_cast<int>(shell::MouseButton::Forward))) run("view.forward");
  // One key does one thing; text that is typed into a text field never arrives here.
  const std::size_t waiting_before = waiting_.size();
  for (const Command& command : commands()) {
    const auto is_pressed = [&](const shell::Shortcut& key) { return desk_.ui.is_pressed(key.key, key.modifiers); };
    const auto key = std::ranges::find_if(command.keys, is_pressed);
    if (key == command.keys.end()) continue;
    if (has_popup() && !command.works_in_popups) continue;
    const bool types = shell::types_character({.key = key->key, .modifiers = key->modifiers});
    if (types && frames_until_text_field_ > 0) continue;
    const bool opens_text = key->key == shell::Key::Slash && typed_row_.is_empty();  // what follows is typed into its box
    if (types && !opens_text && !desk_.ui.typed().empty()) {
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
  desk_.ui.request_redraw(2);
}

void Workspace::follow_typed_row(std::size_t shortcuts, double now_s) {
  const std::string_view typed = desk_.ui.typed();
  const bool is_elsewhere = frames_until_text_field_ > 0 || (typed_row_.is_empty() && has_popup());
  if (!typed.empty() && !is_elsewhere) {
    if (typed_row_.is_empty()) {
      before_typed_row_ = {.state = desk_.state,
                           .step = desk_.undo.shown_id(),
                           .paints = desk_.transient.paints,
                           .asked_number = desk_.transient.asked_number};
    }
    const bool was_text = typed_row_.is_text();
    typed_row_.add(desk_.ui.unshaped(typed), shortcuts, now_s);
    if (typed_row_.is_text() && !was_text) take_back_typed_row();
    if (typed_row_.may_be_text()) desk_.ui.drop_typed_keys();
    desk_.ui.request_redraw(2);
  }
  if (typed_row_.is_text()) waiting_.clear();
  if (waiting_.empty() || !typed_row_.may_run(now_s)) return;
  for (const Command* command : std::exchange(waiting_, {})) run(*command);
}

void Workspace::take_back_typed_row() {
  if (desk_.undo.shown_id() != before_typed_row_.step) static_cast<void>(desk_.undo.go_to(before_typed_row_.step));
  desk_.state = before_typed_row_.state;
  desk_.transient.paints = before_typed_row_.paints;
  desk_.transient.asked_number = before_typed_row_.asked_number;
  toast_ = {};
  desk_.ui.keyboard().end();  // Enter and Space answer the offer
}

void Workspace::answer_typed_offer() {
  TypedOfferChoice answer = std::exchange(typed_answer_, TypedOfferChoice::None);
  if (desk_.ui.take_key(shell::Key::Escape)) answer = TypedOfferChoice::Leaves;
  if (has_text_box() && desk_.ui.take_key(shell::Key::Enter)) {
    answer = desk_.ui.modifiers().shift ? TypedOfferChoice::Replaces : TypedOfferChoice::Adds;
  }
  if (desk_.ui.take_key(shell::Key::Backspace)) typed_row_.erase_last();
  if (answer == TypedOfferChoice::Adds || answer == TypedOfferChoice::Replaces) {
    std::string& text = desk_.state.text();
    if (answer == TypedOfferChoice::Replaces) text.clear();
    if (!text.empty() && text.back() != ' ' && text.back() != '\n') text += ' ';
    text += typed_row_.text();
    desk_.ui.ensure_glyphs(text);
    if (is_model(desk_.state.source)) desk_.state.model().ids.clear();
    write_text();
  }
  if (answer != TypedOfferChoice::None || typed_row_.is_empty()) typed_row_ = {};
}

void Workspace::go_back() {
  places_.go_back(desk_.state, [this](const State& place) { return is_place(place); });
}

void Workspace::go_forward() {
  places_.go_forward(desk_.state, [this](const State& place) { return is_place(place); });
}

bool Workspace::is_place(const State& place) const {
  State clamped = place;
  clamp_selection(clamped, desk_.result.shapes);
  return clamped.selection == place.selection && find_view(place.view.tab).id == place.view.tab;
}

bool Workspace::has_text_box() const {
  if (is_playground(desk_.state.source)) return true;
  return is_model(desk_.state.source) && !(desk_.result.model && !desk_.result.model->tokenizer);
}

void Workspace::run(const Command& command) {
  const CommandContext context = command_context();
  if (!is_enabled(command, context)) {
    const std::string_view refusal = refusal_of(command, context);
    if (!is_loading_model() && !refusal.empty()) tell(std::string(refusal), desk_.state);
    return;
  }
  if (!command.tell) {
    command.run(context);
  } else {
    State before = desk_.state;
    command.run(context);
    std::string text = command.tell(desk_.state, has_other_model(before, desk_.state));
    if (!text.empty()) tell(std::move(text), std::move(before));
  }
  desk_.ui.request_redraw(2);
}

void Workspace::run(std::string_view id) { run(find_command(id)); }

void Workspace::run_posted() {
  for (const auto& action : std::exchange(desk_.actions, {})) action();
  for (const std::string_view id : std::exchange(desk_.commands, {})) run(id);
}

void Workspace::copy_cell() { copies_cell_ = true; }

void Workspace::copy_as_text() {
  desk_.attempt([this] {
    ImGui::SetClipboardText(desk_.ui.unshaped(describe()).c_str());
    desk_.tell("What the view shows is on the clipboard, in words and numbers.");
  });
}

void Workspace::copy_figure() { export_dialog_.copy_figure(desk_.state, desk_.transient, desk_.result); }

void Workspace::toggle_sidebar() {
  if (desk_.is_presenting && lessons_.player().is_open()) {
    lessons_.fold_card();
    return desk_.ui.request_redraw(2);
  }
  if (std::exchange(desk_.is_presenting, false)) return;  // which folds it
  if (!has_left()) return desk_.tell("The left panel opens with a lesson (F4), and where a chip's panel is kept there.");
  app::toggle_left(desk_.settings.panes, desk_.layout);
}

void Workspace::toggle_grid() {
  if (std::exchange(desk_.is_presenting, false)) return;
  app::toggle_grid(desk_.settings.panes, desk_.layout);
  if (folds_grid_ && !desk_.layout.has_grid() && desk_.settings.panes.grid_fold == Fold::Automatic)
    desk_.settings.panes.grid_fold = Fold::Open;
}

void Workspace::toggle_palette() {
  if (palette_.close() || models_.browser().is_open() || export_dialog_.is_open()) return;
  shows_help_ = shows_about_ = false;
  palette_.open();
}

void Workspace::toggle_menus() {
  if (has_open_menu_) {
    close_popups();
  } else {
    opens_menus_ = !has_popup();
  }
}

void Workspace::toggle_welcome() {
  desk_.settings.shows_welcome = !desk_.settings.shows_welcome;
  welcome_memory_ = {};
}

void Workspace::reach_text() {
  desk_.is_presenting = false;
  frames_until_text_field_ = 3;
  desk_.ui.skip_text_of_key();
}

void Workspace::write_text() {
  reach_text();
  desk_.transient.text_focus = TextFocus::AtEnd;
}

void Workspace::focus_second_text() {
  reach_text();
  desk_.transient.focuses_second_text = true;
}

void Workspace::dismiss() {
  bool has_dialog =
      shows_help_ || shows_history_ || shows_about_ || desk_.transient.asked_number || export_dialog_.is_open();
  shows_help_ = shows_about_ = shows_history_ = false;
  desk_.transient.asked_number.reset();
  export_dialog_.close();
  for (Feature* feature : features_) has_dialog = feature->close() || has_dialog;
  if (close_popups() || has_dialog) return;
  if (desk_.is_arriving() || desk_.result.first_layers > 0) return models_.give_up_loading();
  if (desk_.engine->progress().pass) return desk_.engine->cancel_load();
  if (desk_.generation.is_running()) return desk_.stop_generating();
  if (desk_.transient.search.is_open) {
    desk_.transient.search.is_open = false;
  } else if (desk_.transient.paints) {
    desk_.transient.paints = false;
  } else if (toast_.is_shown()) {
    toast_ = {};
  } else if (desk_.notice.is_shown()) {
    desk_.notice = {};
  } else if (desk_.settings.shows_welcome && !desk_.is_presenting) {
    desk_.settings.shows_welcome = false;
  } else if (fold_view(desk_.state)) {
    return;
  } else if (desk_.is_presenting) {
    desk_.is_presenting = false;
  } else if (desk_.transient.range) {
    desk_.transient.range.reset();
  } else if (desk_.state.view.locked) {
    desk_.state.view.locked.reset();
  } else {
    desk_.state.view.pinned.reset();
  }
}

void Workspace::tell(std::string text, State before) {
  toast_ = {.text = std::move(text), .until_s = desk_.now_s + kToast_s, .can_undo = has_other_model(before, desk_.state)};
  told_before_ = std::move(before);
  told_after_ = desk_.state;
  told_step_.reset();
  desk_.ui.request_redraw(2);
}

void Workspace::forget_toast(double now_s) {
  if (!toast_.is_shown()) return;
  if (!told_step_) told_step_ = desk_.undo.shown_id();
  // The toast's report is no longer true, or it was there long enough.
  if (has_other_model(told_after_, desk_.state) || now_s >= toast_.until_s) {
    toast_ = {};
    desk_.ui.request_redraw(2);  // this frame has drawn it
  }
}

void Workspace::take_back() {
  if (told_step_ == desk_.undo.shown_id()) {
    undo_change();
  } else {  // something that leaves the model alone came after it, and stays
    desk_.state.pass() = told_before_.pass();
  }
  toast_ = {};
  desk_.ui.request_redraw(2);
}

}  // namespace headlight::app
