#include <exception>

#include "app/engine/continuation.h"
#include "app/models/starter_view.h"
#include "app/sidebar/capture_panel.h"
#include "app/sidebar/language_model_panel.h"
#include "app/sidebar/model_panel.h"
#include "app/state/model_changes.h"
#include "app/state/opened_file.h"
#include "app/widgets/second_text.h"
#include "app/window/workspace.h"
#include "capture/capture_file.h"
#include "inference/torch_snippet.h"

namespace headlight::app {

void Workspace::browse_models() {
  model_browser_.open();
  look_for_models();
}

void Workspace::look_for_models() {
  model_jobs_.look_for_models({.recent = settings_.recent_models, .folder = settings_.model_folder});
}

std::vector<WelcomeCard> Workspace::welcome_cards() {
  using Kind = WelcomeCard::Kind;
  std::vector<WelcomeCard> cards;
  const auto add_model = [&](Kind kind, const StarterView& starter, const char* title, const char* summary) {
    const std::optional<std::string> path = catalog_.bundled_model(starter.model);
    if (!path) return;
    cards.push_back({.kind = kind, .title = title, .summary = summary, .is_shown = model_path(state_.source) == *path});
  };
  add_model(Kind::Captions, kCaptionsStarter, "Repeated captions", "One sentence twice: what a head finds again");
  add_model(Kind::Translator, kTranslatorStarter, "Translate German", "Which German word each English word comes from");
  cards.push_back({.kind = Kind::Lessons, .title = "Lessons", .summary = "From what a query is to induction heads"});
  WelcomeCard notebooks{.kind = Kind::Notebooks, .title = "Notebooks", .summary = "Networks of published notebooks"};
  for (const PresetInfo& preset : catalog_.presets()) {
    const std::size_t split = preset.title.find(" · ");
    const bool is_numbered = split != std::string::npos;
    notebooks.list.push_back({.kind = Kind::Preset,
                              .title = is_numbered ? "Notebook " + preset.title.substr(0, split) : preset.title,
                              .summary = is_numbered ? preset.title.substr(split + 4) : preset.summary,
                              .preset = preset.name,
                              .is_shown = notebook_name(state_.source) == preset.name});
    notebooks.is_shown = notebooks.is_shown || notebooks.list.back().is_shown;
  }
  cards.push_back(std::move(notebooks));
  cards.push_back(
      {.kind = Kind::Browse, .title = "Open a model\u2026", .summary = "A folder, a .gguf file, or saved attention"});
  return cards;
}

void Workspace::begin_with(const WelcomeCard& card) {
  const auto show = [&](const StarterView& starter) {
    const std::optional<std::string> path = catalog_.bundled_model(starter.model);
    if (!path) return;
    open_model(*path);
    text_to_show_ = starter.text;
  };
  switch (card.kind) {
    case WelcomeCard::Kind::Captions:
      return show(kCaptionsStarter);
    case WelcomeCard::Kind::Translator:
      return show(kTranslatorStarter);
    case WelcomeCard::Kind::Lessons:
      if (!lessons_.is_open()) toggle_lessons();
      break;
    case WelcomeCard::Kind::Notebooks:
      break;  // one of its list is begun with
    case WelcomeCard::Kind::Preset:
      undo_.seal();
      select_preset(state_, card.preset);
      break;
    case WelcomeCard::Kind::Browse:
      browse_models();
      break;
  }
  ui_.request_redraw(2);
}

void Workspace::open_model(const std::string& path) {
  text_to_show_.reset();
  try {
    const std::filesystem::path file = expand_home(path);
    if (capture::is_capture_path(file)) return open_capture(file);
    model_jobs_.open(file.string());
  } catch (const std::exception& error) {
    notice_ = {.text = error.what(), .is_warning = true};
  }
  ui_.request_redraw();
}

void Workspace::take_model_updates() {
  const std::optional<ModelJobs::Opened> opened = model_jobs_.poll();
  if (opened) ui_.request_redraw(2);
  if (opened && opened->model) return show_model(*opened);
  if (opened) text_to_show_.reset();
  if (!opened) return leave_what_cannot_be_loaded();
  if (opened->holds_models) {
    settings_.model_folder = opened->path;
    return browse_models();
  }
  if (model_browser_.is_open()) {
    model_browser_.refuse(opened->error);
  } else {
    notice_ = {.text = opened->error, .is_warning = true};
  }
}

void Workspace::show_model(const ModelJobs::Opened& opened) {
  stop_generating();
  opened_model_ = opened.model;
  undo_.seal();
  const bool is_other = model_path(state_.source) != opened.path;
  if (!is_other) ++opening_;
  select_model(state_, opened.path, opened.model->masks);
  if (is_other) select_first_head(state_, *opened.model);
  if (const std::optional<std::string> text = std::exchange(text_to_show_, std::nullopt)) {
    state_.text() = *text;
    state_.view.tab = kHeadView;
    state_.model().ids.clear();
    state_.model().target_text.clear();
    state_.model().target_ids.clear();
    select_first_head(state_, *opened.model);
    ui_.ensure_glyphs(state_.text());
  }
  remember_model(settings_, opened.path);
  model_browser_.close();
  notice_ = {};
  if (!opened.model->tokenizer) {
    notice_ = {.text = opened.model->tokenizer_problem + "; only token ids can be given", .is_warning = true};
  }
}

void Workspace::leave_what_cannot_be_loaded() {
  if (result_.run != 0 && result_.model == opened_model_) opened_model_.reset();
  if (!result_.is_load_error || result_.revision != revision_) return;
  notice_ = {.text = is_load_cancelled_ ? "Loading was cancelled" : result_.error, .is_warning = !is_load_cancelled_};
  is_load_cancelled_ = false;
  go_back();
}

void Workspace::go_back() {
  opened_model_.reset();
  const std::string left = model_path(state_.source);
  while (undo_.can_undo() && model_path(state_.source) == left) state_ = undo_.undo();
  if (model_path(state_.source) == left) select_model(state_, "", {});
  ui_.request_redraw(2);
}

bool Workspace::is_arriving() const {
  if (result_.run == 0 || !result_.inputs) return false;
  const bool is_refused = !result_.error.empty() && result_.revision >= inputs_revision_;
  return !is_refused && !names_same(result_.inputs->source, state_.source);
}

void Workspace::follow_arrival(double now_s) {
  const bool arrives = is_arriving();
  if (arrives && ui_.is_typing() && !model_browser_.is_open()) {
    ui_.leave_text_field();
    resumes_text_ = true;
  } else if (!arrives && std::exchange(resumes_text_, false)) {
    transient_.text_focus = TextFocus::AtEnd;
  }
  if (!arrives && !engine_->load_progress()) {
    arrival_began_s_.reset();
  } else if (!arrival_began_s_) {
    arrival_began_s_ = now_s;
  }
}

void Workspace::follow_staleness(double now_s) {
  const bool is_stale = result_.run != 0 && result_.first_layers == 0 && !is_current() && !is_arriving();
  if (!is_stale) {
    stale_since_s_.reset();
  } else if (!stale_since_s_) {
    stale_since_s_ = now_s;
  }
}

void Workspace::give_up_loading() {
  if (engine_->load_progress()) {
    is_load_cancelled_ = true;
    engine_->cancel_load();
  } else if (is_arriving()) {
    notice_ = {.text = "Loading was cancelled"};
    if (!is_model(state_.source)) {
      state_ = held_;
      ui_.request_redraw(2);
    } else {
      go_back();
    }
  }
}

std::string Workspace::arriving_name() {
  if (is_model(state_.source)) return model_name(result_.model.get(), model_path(state_.source));
  if (is_capture(state_.source)) return std::filesystem::path(capture_path(state_.source)).filename().string();
  const PresetInfo* preset = catalog_.preset(notebook_name(state_.source));
  return preset ? preset->title : "the playground";
}

void Workspace::go_on_generating() {
  if (!generation_.is_running()) return;
  if (!result_.error.empty() && result_.revision == revision_) {
    generation_.stop(state_, result_.error);
  } else if (is_current() && requested_inputs_ == run_inputs(state_)) {
    generation_.step(state_, result_);
    ui_.ensure_glyphs(state_.text());
    ui_.ensure_glyphs(state_.model().target_text);
  }
  if (!generation_.is_running()) stop_generating();
}

void Workspace::stop_generating() {
  generation_.stop(state_);
  // What was generated is one step, and what the user types next another.
  if (undo_.observe(state_, last_frame_s_, true)) ui_.request_redraw(2);
  undo_.seal();
}

bool Workspace::can_generate() const {
  return is_current() && result_.has_logits && result_.model && predicts_next(result_);
}

void Workspace::start_generating() {
  undo_.observe(state_, last_frame_s_, false);
  undo_.seal();
  generation_.start(state_, result_);
}

void Workspace::draw_model_browser(Frame& frame) {
  const ModelBrowserChoice choice =
      model_browser_.draw(frame, {.models = model_jobs_.found(),
                                  .is_looking = model_jobs_.is_looking(),
                                  .opening = model_jobs_.is_opening() ? model_jobs_.path_being_opened() : std::string(),
                                  .shown = model_path(frame.state.source)});
  if (choice.path) open_model(*choice.path);
}

bool Workspace::has_two_texts(const State& state) const {
  return result_.model && result_.model->description.is_encoder_decoder && result_.model->path == model_path(state.source);
}

void Workspace::draw_text_section(Frame& frame) {
  if (has_two_texts(frame.state)) {
    draw_prompt_switches(frame);
  } else if (!is_model(frame.state.source)) {
    draw_text_panel(frame, text_memory_, error_of(ErrorSection::Text));
  } else {
    draw_prompt_panel(frame, prompt_memory_, error_of(ErrorSection::Text));
  }
  if (can_open_second_text()) draw_second_text(frame);
}

bool Workspace::can_open_second_text() const {
  if (is_model(state_.source)) return !has_two_texts(state_) && state_.model().ids.empty();
  return is_playground(state_.source) && !state_.playground().cross;
}

void Workspace::copy_torch() {
  if (!result_.network || !result_.input || !result_.inputs) return;
  const RunInputs& inputs = *result_.inputs;
  try {
    if (!inputs.gains.empty() || !inputs.patterns.empty() || !inputs.changes.empty()) {
      throw Error(
          "the snippet has a network's numbers and masks alone: take back what was changed of heads and activations");
    }
    const PresetInfo* preset = catalog_.preset(notebook_name(inputs.source));
    const std::string changes = run_changes(inputs, nullptr, *result_.network);
    const std::string remark = changes_note(inputs.source, changes);
    const std::string text = inference::torch_snippet(preset != nullptr ? preset->title : "playground", remark,
                                                      *result_.network, *result_.input, inputs.masks);
    ImGui::SetClipboardText(text.c_str());
    notice_ = {.text = "A PyTorch program that prints these numbers is on the clipboard."};
  } catch (const Error& error) {
    notice_ = {.text = fmt::format("Not copied: {}", error.what()), .is_warning = true};
  }
}

void Workspace::draw_model_section(Frame& frame, const PresetInfo* preset) {
  const std::string error = error_of(ErrorSection::Model);
  if (is_capture(frame.state.source)) {
    if (draw_capture_panel(frame, typed_, error)) open_capture();
    return;
  }
  // What is on screen may still be another model's: the chosen one can be on its way, or find no way to run this text.
  const std::string& path = model_path(frame.state.source);
  const auto is_chosen = [&](const auto& model) { return model && model->path.string() == path; };
  const inference::LanguageModel* chosen = is_chosen(result_.model)   ? result_.model.get()
                                           : is_chosen(opened_model_) ? opened_model_.get()
                                                                      : nullptr;
  bool& shows_details = settings_.panes.shows_details;
  const bool opens_browser = path.empty() ? draw_model_panel(frame, typed_, preset, error, shows_details, preset_editor_)
                                          : draw_language_model_panel(frame, typed_, chosen, error, shows_details);
  if (opens_browser) browse_models();
}

}  // namespace headlight::app
