#include "app/sidebar/link_panel.h"

#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kBytesPerMib = std::uint64_t{1} << 20;

void draw_step_slider(Frame& frame, Form& form, const LinkSnapshot& link, std::size_t shown, LinkChoice& choice) {
  const float width = form.label("Step", "Of those that are kept; every view and metric shows the step's attention.");
  int index = static_cast<int>(shown);
  const std::string text = fmt::format("{}", link.steps[shown].step);
  ImGui::SetNextItemWidth(width);
  const int last = static_cast<int>(link.steps.size()) - 1;
  ImGui::SliderInt("##step", &index, 0, last, text.c_str(), ImGuiSliderFlags_AlwaysClamp | ImGuiSliderFlags_NoInput);
  mark_last_item(frame, "link.step", "The step of training on show.");
  step_by_keys(frame, index, 0, last, 1, false);
  if (index != static_cast<int>(shown)) choice.step = static_cast<std::size_t>(index);
  const float half = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) * 0.5F;
  if (form.button("earlier", "\u2039 Earlier", half) && shown > 0) choice.step = shown - 1;
  ImGui::SameLine();
  if (form.button("later", "Later \u203A", half) && shown + 1 < link.steps.size()) choice.step = shown + 1;
}

}  // namespace

LinkChoice draw_link_panel(Frame& frame, NumberBeingTyped& typed, const LinkSnapshot& link, std::size_t shown,
                           bool follows_newest) {
  Form form(frame, typed, "link");
  LinkChoice choice{.step = {}, .follows_newest = follows_newest};
  frame.ui.ensure_glyphs(link.name);
  form.value("From", link.name.empty() ? "a program" : link.name, "What the program that sends these steps calls itself.");
  draw_step_slider(frame, form, link, shown, choice);
  form.toggle("newest", "Follow newest", choice.follows_newest, {}, "Show each step as it comes.");
  if (choice.step) choice.follows_newest = *choice.step + 1 == link.steps.size() && follows_newest;
  std::string note =
      fmt::format("{} steps kept, {} of {} MiB{}", link.steps.size(), (link.bytes + kBytesPerMib - 1) / kBytesPerMib,
                  link.budget.bytes / kBytesPerMib, link.is_linked ? "" : "; the program has ended");
  if (link.thinned > 0) note += fmt::format("; {} thinned out", link.thinned);
  form.note(note + ".");
  if (!link.refusal.empty()) form.warning(fmt::format("Not shown: {}", link.refusal));
  return choice;
}

}  // namespace headlight::app
