#include <imgui.h>

#include "app/widgets/controls.h"
#include "app/widgets/step_plot.h"
#include "app/widgets/text.h"
#include "app/window/steps.h"
#include "view/number_format.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kBytesPerMib = std::uint64_t{1} << 20;

}  // namespace

void Steps::section(Frame& frame) {
  if (!shown() && (!adopted_ || room_.series().scalars.empty())) return;
  draw_section(frame, desk_.layout.sidebar, "link", "Steps", is_open_, [&] { draw(frame); });
}

void Steps::draw(Frame& frame) {
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
    const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F;
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
  const float gap = ImGui::GetStyle().ItemSpacing.x, half = (ImGui::GetContentRegionAvail().x - gap) * 0.5F;
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
    desk_.post([this, at = steps[*events.hovered_step]] { show(nearest_step(adopted_->steps, at)); });
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
  const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F;
  if (form.button("earlier", "\u2039 Earlier", half)) index = std::max(index - 1, 0);
  ImGui::SameLine();
  if (form.button("later", "Later \u203A", half)) index = std::min(index + 1, last);
  return static_cast<std::size_t>(index);
}

}  // namespace headlight::app
