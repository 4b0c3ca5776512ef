#include "app/window/workspace.h"

#include <chrono>
#include <ctime>
#include <exception>

#include <imgui.h>

#include "app/exports/figures.h"
#include "app/models/starter_view.h"
#include "app/shell/shaped_text.h"
#include "app/state/comparison.h"
#include "app/state/portable_state.h"
#include "app/state/session_file.h"
#include "app/views/view_table.h"
#include "app/window/png_file.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/json.h"

namespace headlight::app {
namespace {

/// How long a frame waits for the engine's answer to what was just typed.
constexpr std::chrono::microseconds kPatience{15'000};

/// Processor time of the calling thread.
double thread_cpu_ms() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

shell::ThemeKind theme_kind(Theme theme) {
  switch (theme) {
    case Theme::Dark:
      return shell::ThemeKind::Dark;
    case Theme::Light:
      return shell::ThemeKind::Light;
    case Theme::HighContrast:
      break;
  }
  return shell::ThemeKind::HighContrast;
}

/// What clamp_selection() changes.
struct Shown {
  Selection selection;
  std::optional<attention::Cell> pinned;
  std::optional<LockedToken> locked;
  attention::Stage stage = attention::Stage::Weights;
  bool weighs_values = false;

  bool operator==(const Shown&) const = default;
};
Shown shown_of(const State& state) {
  const ViewChoices& view = state.view;
  return {.selection = state.selection,
          .pinned = view.pinned,
          .locked = view.locked,
          .stage = view.heatmap_stage,
          .weighs_values = view.weighs_values};
}

/// What was chosen comes back in place of what was drawn, where the user hasn't chosen anew.
void bring_back(State& state, const Shown& drawn, const Shown& chosen) {
  const auto bring = [](auto& now, const auto& was_drawn, const auto& was_chosen) {
    if (now == was_drawn) now = was_chosen;
  };
  bring(state.selection, drawn.selection, chosen.selection);
  bring(state.view.pinned, drawn.pinned, chosen.pinned);
  bring(state.view.locked, drawn.locked, chosen.locked);
  bring(state.view.heatmap_stage, drawn.stage, chosen.stage);
  bring(state.view.weighs_values, drawn.weighs_values, chosen.weighs_values);
}

}  // namespace

std::unique_ptr<Engine> start_engine(const EngineOptions& options, const State& state) {
  auto engine = std::make_unique<Engine>(options);
  engine->request({.revision = 0, .inputs = run_inputs(state)});
  return engine;
}

Workspace::Workspace(shell::Ui& ui, WorkspaceOptions options)
    : ui_(ui),
      settings_(std::move(options.settings)),
      state_(settings_.state),
      undo_(state_),
      engine_(options.started ? std::move(options.started) : std::make_unique<Engine>(options.engine)),
      renderer_(std::move(options.renderer)),
      may_use_another_device_(options.may_use_another_device && !settings_.device.empty()),
      shown_inputs_(run_inputs(State{})),
      model_jobs_(options.engine.models, std::move(options.find_models), options.engine.wake),
      opened_model_(std::move(options.model)),
      session_(std::move(options.session)),
      export_dialog_(engine_->shared_device(), options.engine.wake) {
  if (options.warning) notice_ = {.text = *options.warning, .is_warning = true};
  if (session_) record_use_ = RecordUse::Compare;
  ui_.ensure_glyphs(state_.text());
  ui_.ensure_glyphs(state_.playground().key_text);
  ui_.ensure_glyphs(state_.model().pair_text);
  ui_.ensure_glyphs(state_.model().target_text);
  welcome_memory_.takes_focus = !options.focuses_text || is_notebook(state_.source);
  if (options.focuses_text) {
    // An example is there to be replaced; what was typed goes on.
    const bool is_example = state_.text() == State{}.text() || state_.text() == kCaptionsStarter.text ||
                            state_.text() == kTranslatorStarter.text;
    transient_.text_focus = is_example ? TextFocus::SelectAll : TextFocus::AtEnd;
  }
  request_what_is_seen();
}

void Workspace::frame(glm::uvec2 size, float content_scale, double now_s) {
  const std::uint64_t asked = inputs_revision_;
  const double began_ms = thread_cpu_ms();
  build(size, content_scale, now_s);
  build_cpu_ms_ = thread_cpu_ms() - began_ms;
  // What was typed and its maps in one frame, where the engine is that fast: two would take twice as long to draw.
  const bool may_be_fast = result_.run != 0 && result_.first_layers == 0 && !result_.translated &&
                           result_.timing.wall_ms < 1e-3 * static_cast<double>(kPatience.count());
  if (inputs_revision_ != asked && may_be_fast && engine_->wait_for(revision_, kPatience)) {
    ui_.drop_frame();
    build(size, content_scale, now_s);
  }
  ui_.end_frame();
  save_screenshot();
}

void Workspace::build(glm::uvec2 size, float content_scale, double now_s) {
  constexpr float kPresentationScale = 1.4F;
  const float zoom =
      (state_.view.ui_scale > 0.0F ? state_.view.ui_scale : 1.0F) * (is_presenting_ ? kPresentationScale : 1.0F);
  ui_.set_theme(theme_kind(state_.view.theme));
  take_engine_update();  // first: the fonts of this frame have what its tokens need
  ui_.begin_frame(size, content_scale * zoom, std::max(now_s - last_frame_s_, 0.0));
  last_frame_s_ = now_s;
  take_model_updates();
  follow_link();
  go_on_generating();

  // A run that is older than the state may lack the selected block or cell: something else is drawn meanwhile, and what was
  // chosen comes back unless the user chooses anew.
  follow_arrival(now_s);
  follow_staleness(now_s);
  const bool shows_state = is_current() && requested_inputs_ == run_inputs(state_);
  const Shown chosen = shown_of(state_);
  if (!is_arriving()) clamp_selection(state_, result_.shapes);
  const Shown drawn = shown_of(state_);
  if (shows_state && chosen != drawn) undo_.adopt(state_);
  const std::uint64_t step_before = undo_.shown_id();

  queries_.clear();
  items_.clear();
  tips_.clear();
  handle_keys(now_s);
  run_posted();
  if (const auto step = std::exchange(chosen_step_, std::nullopt)) state_ = undo_.go_to(*step);
  take_file_choice();
  take_lesson_choice();
  follow_lesson(now_s);
  take_survey_choice();
  const auto frame_of = [&](State& state) {
    return Frame{.ui = ui_,
                 .state = state,
                 .transient = transient_,
                 .result = result_,
                 .queries = queries_,
                 .items = &items_,
                 .generation = &generation_,
                 .commands = &posted_,
                 .tips = &tips_};
  };
  Frame menus = frame_of(state_);
  draw_menu(menus);
  // Not into the state of another step, which may well be what is drawn: that would be a change, and undo would lead
  // nowhere.
  if (!shows_state && undo_.shown_id() == step_before) bring_back(state_, drawn, chosen);
  // Only now: keys and menus may have chosen another model, or brought back a state that the run on screen doesn't fit.
  const bool arrives = is_arriving();
  const Shown wanted = shown_of(state_);
  if (!arrives) clamp_selection(state_, result_.shapes);
  const Shown shown = shown_of(state_);
  const std::uint64_t shown_step = undo_.shown_id();
  State held = arrives ? held_ : State{};  // a copy: nothing can be changed in it
  // The run may be of a model that was chosen in between, and given up for the one that is on its way.
  if (arrives) clamp_selection(held, result_.shapes);
  Frame panes = frame_of(arrives ? held : state_);
  // The box moves when the model turns out to have two texts; who writes in it goes on.
  const bool has_two = has_two_texts(panes.state);
  if (has_two != std::exchange(had_two_texts_, has_two) && ui_.is_typing()) transient_.text_focus = TextFocus::AtEnd;
  draw(menus, panes);
  transient_.text_focus = TextFocus::None;
  is_mouse_held_ = ImGui::IsAnyMouseDown();

  if (undo_.shown_id() == shown_step) bring_back(state_, shown, wanted);
  if (!is_arriving() && held_ != state_) held_ = state_;
  remember(now_s);
  request_what_is_seen();
}

bool Workspace::is_current() const {
  return result_.run != 0 && result_.first_layers == 0 && !result_.is_stale && result_.revision >= inputs_revision_;
}

void Workspace::take_engine_update() {
  if (std::optional<EngineResult> update = engine_->poll()) {
    const bool is_other_run = update->run != result_.run;
    const bool is_reopened = update->reopenings != result_.reopenings && update->error.empty();
    const bool has_changed_model = update->model_changes != result_.model_changes && update->model;
    result_ = std::move(*update);
    if (is_other_run) prepare_token_texts();
    if (is_other_run) warn_of_fonts();
    if (is_other_run) warn_of_numbers();
    if (is_other_run) warn_of_changes();
    if (result_.input && drawn_input_.of == result_.input) result_.input = drawn_input_.as_drawn;
    if (is_reopened) tell_of_lost_engine();
    if (has_changed_model) {
      notice_ = {.text = fmt::format("{} has changed on disk since it was opened; it was opened again.",
                                     result_.model->path.filename().string())};
    }
    settle_device();
    ui_.request_redraw();
  }
  if (is_current()) shown_inputs_ = requested_inputs_;
  if (std::optional<Notice> update = export_dialog_.take_result()) notice_ = std::move(*update);
}

void Workspace::prepare_token_texts() {
  drawn_input_ = {};
  if (!result_.input) return;
  bool needs_copy = false;
  const auto look_at = [&](const model::TokenBatch& tokens) {
    for (const auto& line : tokens.texts) {
      for (const std::string& token : line) {
        needs_copy = needs_copy || shell::needs_shaping(token);
        ui_.ensure_glyphs(token);
      }
    }
  };
  look_at(result_.input->source);
  if (result_.input->target) look_at(*result_.input->target);
  if (!needs_copy) return;
  auto drawn = std::make_shared<model::ModelInput>(*result_.input);
  const auto shape = [&](model::TokenBatch& tokens) {
    for (auto& line : tokens.texts) {
      for (std::string& token : line) token = ui_.shaped(token);
    }
  };
  shape(drawn->source);
  if (drawn->target) shape(*drawn->target);
  drawn_input_ = {.of = result_.input, .as_drawn = std::move(drawn)};
}

void Workspace::settle_device() {
  if (!result_.device.empty()) may_use_another_device_ = false;
  if (may_use_another_device_ && !result_.error.empty()) {
    may_use_another_device_ = false;
    notice_ = {.text = result_.error + " Another device is used instead.", .is_warning = true};
    settings_.device.clear();
    engine_->set_device("");
  }
  if (chosen_device_ && result_.error.empty()) settings_.device = *std::exchange(chosen_device_, std::nullopt);
}

void Workspace::remember(double now_s) {
  follow_second_text(state_);
  // All tokens of one continuation are one step.
  if (lessons_.observe(state_, result_, queries_)) ui_.request_redraw(2);
  if (undo_.observe(state_, now_s, is_mouse_held_ || generation_.is_running())) ui_.request_redraw(2);
  forget_toast(now_s);
}

void Workspace::request_what_is_seen() {
  RunInputs inputs = run_inputs(state_);
  const bool is_first = revision_ == 0;
  const bool is_opened_again = std::exchange(requested_opening_, opening_) != opening_;
  const bool has_other_inputs = is_first || is_opened_again || inputs != requested_inputs_;
  if (generation_.is_running() && result_.has_logits) queries_.emplace_back(generation_.request(result_));
  const bool has_other_baseline = requested_baseline_ != state_.compare.baseline;
  if (!has_other_inputs && !has_other_baseline && queries_ == requested_queries_) return;
  ++revision_;
  if (has_other_inputs) inputs_revision_ = revision_;
  requested_inputs_ = std::move(inputs);
  requested_baseline_ = state_.compare.baseline;
  requested_queries_ = queries_;
  engine_->request({.revision = revision_,
                    .inputs = requested_inputs_,
                    .queries = requested_queries_,
                    .reference = requested_baseline_ ? std::optional(requested_baseline_->inputs) : std::nullopt,
                    .laid_out_for = result_.shapes,
                    .selected = state_.selection.block,
                    .opening = opening_});
}

bool Workspace::shows_selected_map() const {
  const auto is_tile = [](const Query& query) { return std::holds_alternative<TileQuery>(query); };
  const auto first = std::ranges::find_if(queries_, is_tile);
  return is_current() && requested_inputs_ == run_inputs(state_) && first != queries_.end() &&
         result_.is_current(std::get<TileQuery>(*first));
}

bool Workspace::shows_all_maps() const {
  const auto is_shown = [&](const Query& query) {
    const TileQuery* tile = std::get_if<TileQuery>(&query);
    return !tile || result_.is_current(*tile);
  };
  return shows_selected_map() && (!result_.translated || result_.translated->is_done) &&
         std::ranges::all_of(queries_, is_shown);
}

void Workspace::report(const std::optional<std::string>& trouble) {
  if (trouble) notice_ = {.text = *trouble, .is_warning = true};
}

std::string Workspace::error_of(ErrorSection section) const {
  if (result_.error.empty()) return {};
  return error_section_for(shown_inputs_, requested_inputs_) == section ? result_.error : std::string();
}

void Workspace::write_figure(const std::filesystem::path& path) const {
  const auto panel = open_views_.find(find_view(state_.view.tab).id);
  std::unique_ptr<exporting::Drawing> figure = panel == open_views_.end() ? nullptr : panel->second->figure();
  const std::optional<exporting::DrawingFormat> format = exporting::drawing_format(path);
  if (!format) throw Error("'{}' doesn't end in .svg, .pdf or .png", path.string());
  if (!figure) throw Error("this view has no figure now: it shows nothing, or what it shows is being computed");
  const bool is_dark = state_.view.theme != Theme::Light;
  const std::unique_ptr<exporting::Drawing> noted =
      exporting::with_note(std::move(figure), changes_on_screen(state_, result_), is_dark);
  exporting::DrawingOutput output = noted->output();
  output.session = fmt::format(R"({{"headlight": 1, "version": {}, "state": {}}})", kSessionVersion,
                               portable_state(state_, path.parent_path()));
  const auto draw = [&](exporting::Canvas& canvas) { noted->draw(canvas); };
  write_file_atomically(path, exporting::encode(noted->size(), output, *format, draw));
}

void Workspace::save_screenshot() {
  const std::optional<Picture> screenshot = export_dialog_.take_picture();
  if (!screenshot) return;
  try {
    if (screenshot->is_figure) {
      write_figure(screenshot->path);
      notice_ = {.text = fmt::format("Saved {}", screenshot->path.string())};
      return ui_.request_redraw();
    }
    const shell::PixelImage window = ui_.read_pixels();
    const bool is_view = screenshot->area == ScreenshotArea::View;
    write_png(screenshot->path, is_view ? cropped(window, layout_.center, ui_.scale()) : window);
    notice_ = {.text = fmt::format("Saved {}", screenshot->path.string())};
  } catch (const std::exception& error) {
    notice_ = {.text = error.what(), .is_warning = true};
  }
  ui_.request_redraw();
}

double Workspace::redraw_after_s() const {
  constexpr double kJobInterval_s = 0.05;  // jobs say that they end just before they do
  const bool has_jobs = model_jobs_.is_opening() || model_jobs_.is_looking();
  double wait_s = ui_.redraw_after_s();
  if (has_jobs) wait_s = std::min(wait_s, kJobInterval_s);
  if (arrival_began_s_ || (stale_since_s_ && engine_->is_busy())) wait_s = std::min(wait_s, kJobInterval_s);
  if (plays_lesson()) wait_s = std::min(wait_s, std::max(next_lesson_look_s_ - last_frame_s_, kJobInterval_s));
  if (notice_.is_shown()) wait_s = std::min(wait_s, std::max(notice_until_s_ - last_frame_s_, kJobInterval_s));
  if (toast_.is_shown()) wait_s = std::min(wait_s, std::max(toast_.until_s - last_frame_s_, 0.0));
  if (!waiting_.empty() || typed_row_.is_text()) wait_s = std::min(wait_s, typed_row_.wait_s(last_frame_s_));
  return wait_s;
}

std::string Workspace::pending() const {
  if (engine_->is_busy()) return "the engine computes";
  if (ui_.has_pending_input()) return "input waits";
  if (!waiting_.empty()) return "a key waits for a second one";
  if (ui_.redraw_after_s() <= 0.0) return "a view moves: " + ui_.redraw_reason();
  if (export_dialog_.is_running()) return "an export is written";
  if (export_dialog_.is_picture_waiting()) return "a screenshot waits";
  if (model_jobs_.is_opening()) return "a model is opened";
  if (model_jobs_.is_looking()) return "models are looked for";
  if (generation_.is_running()) return "text is generated";
  return {};
}

double Workspace::settle(glm::uvec2 size, float content_scale, double now_s) {
  // The walk through a layer takes two minutes at a quarter of its speed: what moves for so long is seen in fewer frames.
  constexpr double kFrame_s = 1.0 / 60.0, kSmooth_s = 10.0, kCoarseFrame_s = 0.1;
  const double began_s = now_s, end_s = now_s + kMostRest_s;
  while (now_s < end_s) {
    frame(size, content_scale, now_s);
    if (is_settled()) return now_s;
    now_s += now_s - began_s < kSmooth_s ? kFrame_s : kCoarseFrame_s;
    export_dialog_.wait();
    model_jobs_.wait();
    engine_->wait_until_idle();
  }
  throw Error("the window never came to rest in {} simulated seconds: {}", kMostRest_s, pending());
}

OpenWindow Workspace::open_window() const {
  OpenWindow window{.state = state_, .session = session_ ? session_->path : std::filesystem::path()};
  forget_linked_step(window.state);
  return window;
}

const Settings& Workspace::settings() {
  settings_.state = state_;
  forget_changes(settings_.state);
  return settings_;
}

std::optional<view::Rect> Workspace::item_rect(std::string_view name) const {
  const auto found = items_.find(name);
  if (found == items_.end()) return std::nullopt;
  return found->second;
}

}  // namespace headlight::app
