#include "app/window/workspace.h"

#include <chrono>

#include <imgui.h>

#include "app/models/starter_view.h"
#include "app/shell/shaped_text.h"
#include "app/state/comparison.h"
#include "app/state/corpus_settings.h"
#include "app/widgets/size_text.h"
#include "app/window/frame_guard.h"
#include "core/error.h"
#include "platform/clock.h"

namespace headlight::app {
namespace {

/// The time that a frame waits for the engine's answer to what was just typed.
constexpr std::chrono::microseconds kPatience{15'000};

double thread_cpu_ms() { return 1e-6 * static_cast<double>(platform::thread_time().count()); }

/// The choices that clamp_selection() changes.
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

/// Brings the user's choices back in place of the drawn ones, where the user hasn't chosen anew.
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

std::unique_ptr<Engine> start_engine(const EngineOptions& options, const State& state) {
  auto engine = std::make_unique<Engine>(options);
  engine->request({.revision = 0, .inputs = run_inputs(state)});
  return engine;
}

Workspace::Workspace(shell::Ui& ui, WorkspaceOptions options)
    : desk_{.ui = ui,
            .settings = std::move(options.settings),
            .engine = options.started ? std::move(options.started) : std::make_unique<Engine>(options.engine)},
      surveys_(options.engine.wake),
      lessons_(desk_),
      models_(desk_, lessons_, options.engine, std::move(options.find_models), std::move(options.model)),
      checkpoints_(*desk_.engine, options.engine.models, options.engine.wake),
      prompts_(*desk_.engine, options.engine.models),
      steps_(desk_, checkpoints_),
      sessions_(desk_, models_, lessons_, steps_, std::move(options.session), options.kept),
      palette_(desk_, models_, lessons_, sessions_, *this),
      check_(desk_),
      chips_(desk_),
      renderer_(std::move(options.renderer)),
      may_use_another_device_(options.may_use_another_device && !desk_.settings.device.empty()),
      shown_inputs_(run_inputs(State{})),
      export_dialog_(*desk_.engine) {
  add(survey_feature(desk_, models_, surveys_));
  add(prompts_feature(desk_, prompts_));
  if (options.warning) desk_.warn(*options.warning);
  desk_.ensure_glyphs();
  welcome_memory_.takes_focus = !options.focuses_text || is_notebook(desk_.state.source);
  if (options.focuses_text) {
    // An example is there to be replaced; what was typed goes on.
    const bool is_example = desk_.state.text() == State{}.text() || desk_.state.text() == kCaptionsStarter.text ||
                            desk_.state.text() == kTranslatorStarter.text;
    desk_.transient.text_focus = is_example ? TextFocus::SelectAll : TextFocus::AtEnd;
  }
  request_what_is_seen();
}

void Workspace::frame(glm::uvec2 size, float content_scale, double now_s) {
  const std::uint64_t asked = desk_.inputs_revision;
  const double began_ms = thread_cpu_ms();
  build(size, content_scale, now_s);
  build_cpu_ms_ = thread_cpu_ms() - began_ms;
  // The typed text and its maps come in one frame, where the engine is that fast: two would take twice as long to draw.
  const bool may_be_fast = desk_.result.run != 0 && desk_.result.first_layers == 0 && !desk_.result.translated &&
                           desk_.result.timing.wall_ms < 1e-3 * static_cast<double>(kPatience.count());
  if (desk_.inputs_revision != asked && may_be_fast && desk_.engine->wait_for(desk_.revision, kPatience)) {
    desk_.ui.drop_frame();
    build(size, content_scale, now_s);
  }
  desk_.ui.end_frame();
  save_screenshot();
}

void Workspace::build(glm::uvec2 size, float content_scale, double now_s) {
  constexpr float kPresentationScale = 1.4F;
  const float zoom = (desk_.state.view.ui_scale > 0.0F ? desk_.state.view.ui_scale : 1.0F) *
                     (desk_.is_presenting ? kPresentationScale : 1.0F);
  desk_.ui.set_theme(theme_kind(desk_.state.view.theme));
  take_engine_update();  // first: the fonts of this frame have what its tokens need
  // Files of settings and sessions may have any scale.
  desk_.ui.begin_frame(size, std::clamp(content_scale * zoom, 0.5F, 8.0F), std::max(now_s - desk_.now_s, 0.0));
  desk_.now_s = now_s;
  const FrameGuard guard;
  try {
    build_begun(now_s);
  } catch (...) {
    guard.unwind();
    desk_.ui.drop_frame();
    throw;
  }
}

void Workspace::build_begun(double now_s) {
  for (Feature* feature : features_) feature->begin_frame();
  go_on_generating();

  // A run that is older than the state may lack the selected block or cell: something else is drawn meanwhile, and what was
  // chosen comes back unless the user chooses anew.
  follow_arrival(now_s);
  follow_staleness(now_s);
  if (const std::optional<std::size_t> most = desk_.ui.take_cut()) {
    desk_.warn(fmt::format("The text box takes {}: what comes after that was left out.", short_bytes(*most)));
  }
  const bool shows_state = desk_.is_current() && desk_.requested_inputs == run_inputs(desk_.state);
  const Shown chosen = shown_of(desk_.state);
  if (!desk_.is_arriving()) clamp_selection(desk_.state, desk_.result.shapes);
  const Shown drawn = shown_of(desk_.state);
  if (shows_state && chosen != drawn) {
    desk_.undo.adopt(desk_.state);
    places_.adopt(desk_.state);
  }
  const std::uint64_t step_before = desk_.undo.shown_id();

  queries_.clear();
  items_.clear();
  tips_.clear();
  handle_keys(now_s);
  run_posted();
  const auto frame_of = [&](State& state) {
    return Frame{.ui = desk_.ui,
                 .state = state,
                 .transient = desk_.transient,
                 .result = desk_.result,
                 .queries = queries_,
                 .items = &items_,
                 .surveys = &surveys_,
                 .checkpoints = &checkpoints_,
                 .prompts = &prompts_,
                 .generation = &desk_.generation,
                 .commands = &desk_.commands,
                 .tips = &tips_};
  };
  Frame menus = frame_of(desk_.state);
  draw_menu(menus);
  // The choices don't come back into the state of another step, which may well be what is drawn: that would be a change, and
  // undo would lead nowhere.
  if (!shows_state && desk_.undo.shown_id() == step_before) bring_back(desk_.state, drawn, chosen);
  // The selection is clamped only now: keys and menus may have chosen another model, or brought back a state that the run on
  // screen doesn't fit.
  const bool arrives = desk_.is_arriving();
  const Shown wanted = shown_of(desk_.state);
  if (!arrives) clamp_selection(desk_.state, desk_.result.shapes);
  const Shown shown = shown_of(desk_.state);
  const std::uint64_t shown_step = desk_.undo.shown_id();
  State held = arrives ? desk_.held : State{};  // a copy: nothing can be changed in it
  // The run may be of a model that was chosen in between, and given up for the one that is on its way.
  if (arrives) clamp_selection(held, desk_.result.shapes);
  Frame panes = frame_of(arrives ? held : desk_.state);
  // The box moves when the model turns out to have two texts; who writes in it goes on.
  const bool has_two = has_two_texts(panes.state);
  if (has_two != std::exchange(had_two_texts_, has_two) && is_writing()) desk_.transient.text_focus = TextFocus::AtEnd;
  draw(menus, panes);
  desk_.transient.text_focus = TextFocus::None;
  is_mouse_held_ = ImGui::IsAnyMouseDown();

  if (desk_.undo.shown_id() == shown_step) bring_back(desk_.state, shown, wanted);
  if (!desk_.is_arriving() && desk_.held != desk_.state) desk_.held = desk_.state;
  remember(now_s);
  request_what_is_seen();
}

void Workspace::take_engine_update() {
  if (std::optional<EngineResult> update = desk_.engine->poll()) {
    const bool is_other_run = update->run != desk_.result.run;
    const bool is_reopened = update->reopenings != desk_.result.reopenings && update->error.empty();
    const bool has_changed_model = update->model_changes != desk_.result.model_changes && update->model;
    desk_.result = std::move(*update);
    if (is_other_run) prepare_token_texts();
    if (is_other_run) warn_of_fonts();
    if (is_other_run) warn_of_numbers();
    if (is_other_run) warn_of_changes();
    if (desk_.result.input && drawn_input_.of == desk_.result.input) desk_.result.input = drawn_input_.as_drawn;
    if (is_reopened) tell_of_lost_engine();
    if (has_changed_model) {
      desk_.notice = {.text = fmt::format("{} has changed on disk since it was opened; it was opened again.",
                                          utf8(desk_.result.model->path.filename()))};
    }
    settle_device();
    desk_.ui.request_redraw();
  }
  if (desk_.is_current()) shown_inputs_ = desk_.requested_inputs;
  if (std::optional<Notice> update = export_dialog_.take_result()) desk_.notice = std::move(*update);
}

void Workspace::prepare_token_texts() {
  drawn_input_ = {};
  if (!desk_.result.input) return;
  bool needs_copy = false;
  const auto look_at = [&](const model::TokenBatch& tokens) {
    for (const auto& line : tokens.texts) {
      for (const std::string& token : line) {
        needs_copy = needs_copy || shell::needs_shaping(token);
        desk_.ui.ensure_glyphs(token);
      }
    }
  };
  look_at(desk_.result.input->source);
  if (desk_.result.input->target) look_at(*desk_.result.input->target);
  if (!needs_copy) return;
  auto drawn = std::make_shared<model::ModelInput>(*desk_.result.input);
  const auto shape = [&](model::TokenBatch& tokens) {
    for (auto& line : tokens.texts) {
      for (std::string& token : line) token = desk_.ui.shaped(token);
    }
  };
  shape(drawn->source);
  if (drawn->target) shape(*drawn->target);
  drawn_input_ = {.of = desk_.result.input, .as_drawn = std::move(drawn)};
}

void Workspace::settle_device() {
  if (!desk_.result.device.empty()) may_use_another_device_ = false;
  if (may_use_another_device_ && !desk_.result.error.empty()) {
    may_use_another_device_ = false;
    desk_.warn(desk_.result.error + " Another device is used instead.");
    desk_.settings.device.clear();
    desk_.engine->set_device("");
  }
  if (chosen_device_ && desk_.result.error.empty()) desk_.settings.device = *std::exchange(chosen_device_, std::nullopt);
}

void Workspace::remember(double now_s) {
  follow_second_text(desk_.state);
  // All tokens of one continuation are one step.
  lessons_.observe(queries_);
  if (desk_.undo.observe(desk_.state, now_s, is_mouse_held_ || desk_.generation.is_running())) desk_.ui.request_redraw(2);
  places_.observe(desk_.state, now_s);
  forget_toast(now_s);
}

void Workspace::request_what_is_seen() {
  RunInputs inputs = run_inputs(desk_.state);
  const bool is_first = desk_.revision == 0;
  const bool is_opened_again = std::exchange(requested_opening_, desk_.opening) != desk_.opening;
  const bool has_other_inputs = is_first || is_opened_again || inputs != desk_.requested_inputs;
  if (desk_.generation.is_running() && desk_.result.has_logits)
    queries_.emplace_back(desk_.generation.request(desk_.result));
  const bool has_other_baseline = requested_baseline_ != desk_.state.compare.baseline;
  if (!has_other_inputs && !has_other_baseline && queries_ == requested_queries_) return;
  ++desk_.revision;
  if (has_other_inputs) desk_.inputs_revision = desk_.revision;
  desk_.requested_inputs = std::move(inputs);
  requested_baseline_ = desk_.state.compare.baseline;
  requested_queries_ = queries_;
  desk_.engine->request({.revision = desk_.revision,
                         .inputs = desk_.requested_inputs,
                         .queries = requested_queries_,
                         .baseline = requested_baseline_ ? std::optional(requested_baseline_->inputs) : std::nullopt,
                         .laid_out_for = desk_.result.shapes,
                         .selected = desk_.state.selection.block,
                         .opening = desk_.opening});
}

void Workspace::show_survey(Survey survey) {
  desk_.state.set(kCorpusView.folder, utf8(survey.directory));
  surveys_.adopt(std::move(survey));
  desk_.undo.adopt(desk_.state);
}

bool Workspace::shows_selected_map() const {
  const auto is_tile = [](const Query& query) { return std::holds_alternative<TileQuery>(query); };
  const auto first = std::ranges::find_if(queries_, is_tile);
  return desk_.is_current() && desk_.requested_inputs == run_inputs(desk_.state) && first != queries_.end() &&
         desk_.result.is_current(std::get<TileQuery>(*first));
}

bool Workspace::shows_all_maps() const {
  const auto is_shown = [&](const Query& query) {
    const TileQuery* tile = std::get_if<TileQuery>(&query);
    return !tile || desk_.result.is_current(*tile);
  };
  return shows_selected_map() && (!desk_.result.translated || desk_.result.translated->is_done) &&
         std::ranges::all_of(queries_, is_shown);
}

std::string Workspace::error_of(ErrorSection section) const {
  if (desk_.result.error.empty()) return {};
  return error_section_for(shown_inputs_, desk_.requested_inputs) == section ? desk_.result.error : std::string();
}

double Workspace::redraw_after_s() const {
  constexpr double kJobInterval_s = 0.05;
  double wait_s = desk_.ui.redraw_after_s();
  for (const Feature* feature : features_) wait_s = std::min(wait_s, feature->redraw_after_s());
  if (arrival_began_s_ || (stale_since_s_ && desk_.engine->is_busy())) wait_s = std::min(wait_s, kJobInterval_s);
  if (desk_.notice.is_shown()) wait_s = std::min(wait_s, std::max(notice_until_s_ - desk_.now_s, kJobInterval_s));
  if (toast_.is_shown()) wait_s = std::min(wait_s, std::max(toast_.until_s - desk_.now_s, 0.0));
  if (!waiting_.empty()) wait_s = std::min(wait_s, typed_row_.wait_s(desk_.now_s));
  return wait_s;
}

std::string Workspace::pending() const {
  if (desk_.engine->is_busy()) return "the engine computes";
  if (desk_.ui.has_pending_input()) return "input waits";
  if (!waiting_.empty()) return "a key waits for a second one";
  if (desk_.ui.redraw_after_s() <= 0.0) return "a view moves: " + desk_.ui.redraw_reason();
  if (export_dialog_.is_running()) return "an export is written";
  if (export_dialog_.is_drawing()) return "a preview is drawn";
  if (picture_.frames_to_wait > 0) return "a screenshot waits";
  for (const Feature* feature : features_) {
    if (std::string waits = feature->pending(); !waits.empty()) return waits;
  }
  if (desk_.generation.is_running()) return "text is generated";
  return {};
}

double Workspace::settle(glm::uvec2 size, float content_scale, double now_s) {
  // The walk through a layer takes two minutes at a quarter of its speed: what moves for so long is seen in fewer frames.
  constexpr double kFrame_s = 1.0 / 60.0, kSmooth_s = 10.0, kCoarseFrame_s = 0.1;
  const double began_s = now_s, end_s = now_s + kMaxRest_s;
  while (now_s < end_s) {
    frame(size, content_scale, now_s);
    if (is_settled()) return now_s;
    now_s += now_s - began_s < kSmooth_s ? kFrame_s : kCoarseFrame_s;
    models_.jobs().wait();
    surveys_.wait();
    checkpoints_.wait();
    desk_.engine->wait_until_idle();
  }
  throw Error("the window never came to rest in {} simulated seconds: {}", kMaxRest_s, pending());
}

OpenWindow Workspace::open_window() const {
  OpenWindow window{.state = desk_.state, .session = sessions_.open_path()};
  forget_linked_step(window.state);
  return window;
}

const Settings& Workspace::settings() {
  desk_.settings.state = desk_.state;
  forget_changes(desk_.settings.state);
  return desk_.settings;
}

std::optional<chart::Rect> Workspace::item_rect(std::string_view name) const {
  const auto found = items_.find(name);
  if (found == items_.end()) return std::nullopt;
  return found->second;
}

}  // namespace headlight::app
