#include "app/window/steps.h"
#include "app/state/view_pane.h"

#include <imgui.h>

#include "app/widgets/controls.h"
#include "app/widgets/step_plot.h"
#include "app/widgets/text.h"
#include "app/window/sidebar/panels.h"
#include "chart/number_format.h"
#include "core/error.h"

namespace headlight::app {

namespace {

constexpr double kPlayInterval_s = 0.25, kStepJobWait_s = 0.05;

/// Returns the step that the capture on show is; none: it isn't kept any more.
std::optional<std::size_t> find_step(const LinkSnapshot& link, const std::string& file) {
  const auto found = std::ranges::find_if(link.steps, [&](const LinkedStep& step) { return step.file == file; });
  if (found == link.steps.end()) return std::nullopt;
  return static_cast<std::size_t>(found - link.steps.begin());
}

bool has_scalars_alone(const LinkSnapshot* link) { return link && link->steps.empty() && !link->scalars->empty(); }

template <typename Value>
bool has_come(const std::future<Value>& future) {
  return future.valid() && future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

StepSeries series_of(const LinkSnapshot& link) {
  StepSeries series{.is_of_captures = true, .scalars = *link.scalars};
  for (const LinkedStep& step : link.steps)
    series.steps.push_back({.step = step.step, .name = std::to_string(step.step), .path = utf8(step.file)});
  return series;
}

}  // namespace

std::shared_ptr<const LinkSnapshot> Steps::shown_link() const {
  const std::string& shown = capture_path(desk_.state.source);
  const auto is_of = [&](const LinkSnapshot* link) {
    return link && !link->steps.empty() && are_linked_steps(link->steps.front().file, shown);
  };
  if (saved_ && is_of(&saved_->snapshot())) return {saved_, &saved_->snapshot()};
  return is_of(linked_.get()) ? linked_ : nullptr;
}

void Steps::begin_frame() {
  if (link_) {
    if (std::shared_ptr<const LinkSnapshot> now = link_(); now != linked_) {
      linked_ = std::move(now);
      desk_.ui.request_redraw(2);
    }
  }
  take_jobs();
  follow_link();
  update_series();
  if (!is_on_screen(desk_.state.view, "checkpoints")) room_.rest();
  if (const std::optional<std::size_t> asked = room_.take_asked()) show(*asked);
  play();
}

void Steps::follow_link() {
  if (!linked_ || linked_->steps.empty()) return;
  const auto newest = std::ranges::find(linked_->steps, linked_->newest, &LinkedStep::step);
  if (linked_->session != shown_session_) {
    shown_session_ = linked_->session;
    follows_newest_ = true;
    desk_.stop_generating();
    desk_.undo.seal();
    if (newest != linked_->steps.end()) show_step(*newest);
    desk_.tell(
        fmt::format("{} sends attention to this window while it computes; the chip Step has the slider of "
                    "steps.",
                    linked_->name.empty() ? "A program" : linked_->name));
    return;
  }
  const std::string& shown = capture_path(desk_.state.source);
  // The step before is shown first, however fast they come.
  if (shown_link() != linked_ || !desk_.is_current()) return;
  const std::optional<std::size_t> known = find_step(*linked_, shown);
  if (follows_newest_ && newest != linked_->steps.end() && newest->file != shown) {
    show_step(*newest);
  } else if (!known) {  // it was thinned out, or sent again
    show_step(linked_->steps[nearest_step(linked_->steps, shown_step_)]);
  }
}

void Steps::take_jobs() {
  if (has_come(saving_)) desk_.attempt([&] { desk_.tell(saving_.get()); });
  if (!has_come(opening_)) return;
  desk_.attempt([&] {
    saved_ = opening_.get();
    remember_file(desk_.settings, opened_);
    const LinkSnapshot& steps = saved_->snapshot();
    desk_.stop_generating();
    desk_.undo.seal();
    select_capture(desk_.state, utf8(steps.steps.back().file));
    desk_.tell(fmt::format("{} steps of {}; the chip Step has the slider of steps.", steps.steps.size(), steps.name));
  });
}

void Steps::update_series() {
  std::shared_ptr<const LinkSnapshot> link = shown_link();
  if (!link && has_scalars_alone(linked_.get())) link = linked_;
  if (link) {
    if (std::exchange(adopted_, link) != link && room_.adopt(series_of(*link))) desk_.ui.request_redraw(2);
    return;
  }
  adopted_.reset();
  if (room_.look(model_path(desk_.state.source), desk_.now_s)) desk_.ui.request_redraw(2);
}

std::optional<std::size_t> Steps::shown() const {
  const StepSeries& series = room_.series();
  if (series.steps.empty() || series.is_of_captures != is_capture(desk_.state.source)) return std::nullopt;
  if (!series.is_of_captures) return series.find(model_path(desk_.state.source));
  const auto known = series.find(capture_path(desk_.state.source));
  return known ? known : std::optional(nearest_step(adopted_->steps, shown_step_));
}

void Steps::show(std::size_t index) {
  const StepSeries& series = room_.series();
  if (index >= series.steps.size()) return;
  if (series.is_of_captures) {
    follows_newest_ = follows_newest_ && index + 1 == series.steps.size();
    return show_step(adopted_->steps[index]);
  }
  desk_.stop_generating();
  desk_.state.source = source_at(desk_.state.source, series.steps[index]);
  desk_.ui.request_redraw(2);
}

void Steps::show_step(const LinkedStep& step) {
  shown_step_ = step.step;
  if (!are_linked_steps(capture_path(desk_.state.source), step.file)) {
    select_capture(desk_.state, utf8(step.file));
  } else {
    // Looking at another step is no change to undo; what is selected and pinned stays.
    std::get<Capture>(desk_.state.source).path = utf8(step.file);
    desk_.undo.adopt(desk_.state);
  }
  desk_.ui.request_redraw(2);
}

bool Steps::can(StepCommand command) const {
  const std::optional<std::size_t> index = shown();
  switch (command) {
    case StepCommand::Earlier:
      return index && *index > 0;
    case StepCommand::Later:
      return index && *index + 1 < room_.series().steps.size();
    case StepCommand::Play:
      return index && (is_playing_ || room_.series().steps.size() > 1);
    case StepCommand::Save:
      break;
  }
  return shown_link() != nullptr && !saving_.valid();
}

void Steps::run(StepCommand command) {
  if (!can(command)) return;
  const bool was_playing = std::exchange(is_playing_, false);
  if (command == StepCommand::Earlier) show(*shown() - 1);
  if (command == StepCommand::Later) show(*shown() + 1);
  if (command != StepCommand::Play || was_playing) return;
  desk_.undo.seal();
  show(can(StepCommand::Later) ? *shown() + 1 : 0);
  follows_newest_ = false;
  // All steps that are played are one of the history.
  desk_.undo.observe(desk_.state, desk_.now_s, false);
  desk_.undo.seal();
  played_id_ = desk_.undo.shown_id();
  next_s_ = desk_.now_s + kPlayInterval_s;
  is_playing_ = true;
}

void Steps::play() {
  if (!is_playing_) return;
  desk_.ui.request_redraw(1);
  is_playing_ = can(StepCommand::Later) && desk_.undo.shown_id() == played_id_;
  if (!is_playing_ || desk_.now_s < next_s_ || !desk_.is_current() || desk_.is_arriving()) return;
  show(*shown() + 1);
  desk_.undo.adopt(desk_.state);
  next_s_ = desk_.now_s + kPlayInterval_s;
}

void Steps::open(const std::filesystem::path& file) {
  if (opening_.valid()) opening_.wait();
  opened_ = file;
  opening_ = std::async(std::launch::async, [file] { return std::make_shared<const SavedSteps>(file); });
  desk_.ui.request_redraw(2);
}

void Steps::save(const std::filesystem::path& file) {
  const std::shared_ptr<const LinkSnapshot> steps = shown_link();
  if (!steps || saving_.valid()) throw Error("there are no steps to save: a program sends them with headlight.connect()");
  saving_ = std::async(std::launch::async, [steps, file, saved = saved_] {
    save_steps(file, *steps);
    return fmt::format("Saved {} steps: {}", steps->steps.size(), utf8(file));
  });
}

std::string Steps::pending() const {
  if (opening_.valid()) return "steps are opened";
  if (saving_.valid()) return "steps are saved";
  if (is_playing_) return "steps are played";
  if (room_.is_looking()) return "checkpoints are looked for";
  return room_.is_measuring() ? "checkpoints are measured" : "";
}

double Steps::redraw_after_s() const {
  const bool waits = opening_.valid() || saving_.valid();
  return waits ? kStepJobWait_s : room_.wait_s(desk_.now_s);
}

namespace {

constexpr std::uint64_t kBytesPerMib = std::uint64_t{1} << 20;

}  // namespace

FeatureChip Steps::chip(const Frame& /*frame*/) {
  const std::optional<std::size_t> index = shown();
  if (!index && (!adopted_ || room_.series().scalars.empty())) return {};
  return {.id = "series",
          .label = index ? fmt::format("Step {}", room_.series().steps[*index].name) : "Steps",
          .help = "The steps of a training: a slider chooses the one on show."};
}

void Steps::panel(Frame& frame) {
  Form form(frame, desk_.typed, "series");
  const StepSeries& series = room_.series();
  const std::optional<std::size_t> index = shown();
  if (adopted_) {
    frame.ui.ensure_glyphs(adopted_->name);
    form.value("From", adopted_->name.empty() ? "a program" : adopted_->name,
               "What the program that sends these steps calls itself.");
  }
  draw_scalars(frame, index ? series.steps[*index].step : std::nullopt);
  if (index) {
    const std::size_t chosen = draw_slider(frame, form, *index);
    if (chosen != *index) {
      is_playing_ = false;
      desk_.post([this, chosen] { show(chosen); });
    }
    const float half = half_width();
    if (form.button("play", is_playing_ ? "Stop###play" : "Play###play", half))
      desk_.post([this] { run(StepCommand::Play); });
    ImGui::SameLine();
    if (form.button("compare", "Compare with it", half)) frame.start_command("compare.freeze");
  }
  if (adopted_ && adopted_ == linked_ && index &&
      form.toggle("newest", "Follow newest", follows_newest_, {}, "Show each step as it comes."))
    is_playing_ = false;
  draw_notes(form);
  if (!series.is_of_captures && form.button("look", "Look again")) room_.look_again();
  if (adopted_ && index && form.button("save", "Save all steps\u2026")) frame.start_command("steps.save");
}

void Steps::draw_notes(Form& form) const {
  if (!adopted_) {
    const StepSeries& series = room_.series();
    form.note(fmt::format("{} checkpoints{}.", series.steps.size(),
                          series.left_out > 0 ? fmt::format("; {} others are left out", series.left_out) : ""));
    return;
  }
  const LinkSnapshot& link = *adopted_;
  if (adopted_ != linked_) return form.note(fmt::format("{} steps of a file.", link.steps.size()));
  std::string note =
      fmt::format("{} steps kept, {} of {} MiB{}", link.steps.size(), (link.bytes + kBytesPerMib - 1) / kBytesPerMib,
                  link.budget.bytes / kBytesPerMib, link.is_linked ? "" : "; the program has ended");
  if (link.thinned > 0) note += fmt::format("; {} thinned out", link.thinned);
  form.note(note + ".");
  if (!link.refusal.empty()) form.warning(fmt::format("Not shown: {}", link.refusal));
}

void Steps::draw_scalars(Frame& frame, std::optional<std::int64_t> step) {
  constexpr std::size_t kMaxCurves = 4;
  constexpr float kCurveHeight = 76.0F;
  const float half = half_width();
  std::size_t drawn = 0;
  for (const auto& [name, curve] : room_.series().scalars) {
    if (drawn == kMaxCurves) break;
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    for (const auto& [at, value] : curve) {
      steps.push_back(at);
      values.push_back(value);
    }
    if (drawn % 2 == 1) ImGui::SameLine();
    frame.ui.ensure_glyphs(name);
    const std::string mark = fmt::format("series.scalar.{}", drawn++);
    const StepPlotEvents events = draw_step_plot(
        frame,
        {.name = mark.c_str(),
         .title = fmt::format("{} {}", name, plot_number(values.back())),
         .steps = steps,
         .lines = {{.values = values, .color = frame.ui.theme().accent, .is_bold = values.size() < 2, .name = name}},
         .is_small = true,
         .shown = step},
        {half, kCurveHeight});
    if (!events.is_clicked || !step) continue;
    if (const auto nearest = room_.series().nearest(steps[*events.hovered_step]))
      desk_.post([this, place = *nearest] { show(place); });
  }
}

std::size_t Steps::draw_slider(Frame& frame, Form& form, std::size_t shown) {
  const std::vector<SeriesStep>& steps = room_.series().steps;
  const float width = form.label("Step", "Of those that are there; every view and metric shows the step's attention.");
  int index = static_cast<int>(shown);
  ImGui::SetNextItemWidth(width);
  const int last = static_cast<int>(steps.size()) - 1;
  frame.ui.ensure_glyphs(steps[shown].name);
  std::string name = fit_text(ImGui::GetFont(), steps[shown].name, width - 8.0F);
  for (std::size_t at = name.find('%'); at != std::string::npos; at = name.find('%', at + 2)) name.insert(at, 1, '%');
  ImGui::SliderInt("##step", &index, 0, last, name.c_str(), ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_NoInput);
  mark_last_item(frame, "series.step", "The step of training on show.");
  step_by_keys(frame, index, 0, last, 1, false);
  const float half = half_width();
  if (form.button("earlier", "\u2039 Earlier", half)) index = std::max(index - 1, 0);
  ImGui::SameLine();
  if (form.button("later", "Later \u203A", half)) index = std::min(index + 1, last);
  return static_cast<std::size_t>(index);
}

}  // namespace headlight::app
