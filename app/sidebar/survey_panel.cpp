#include "app/sidebar/survey_panel.h"

#include <filesystem>

#include "app/state/portable_state.h"
#include "app/widgets/controls.h"

namespace headlight::app {
namespace {

/// Where numbers begin in a row, as shares of the panel's width.
constexpr float kMeanColumn = 0.42F, kRankColumn = 0.86F;

/// One metric of the head: its mean and rank; a click chooses whose texts are listed.
void draw_surveyed_metric(Frame& frame, const Survey& survey, std::size_t index, const SurveyedHead& head,
                          std::size_t& metric) {
  const std::string name = fmt::format("survey.metric.{}", index);
  const float left = ImGui::GetCursorPosX(), width = ImGui::GetContentRegionAvail().x;
  if (ImGui::Selectable(fmt::format("{}##{}", survey.metrics[index], name).c_str(), index == metric)) metric = index;
  mark_last_item(frame, name, "Mean and spread over the corpus, and the head's rank among all; a click lists its texts.");
  if (index == metric) frame.ui.keyboard().prefer_last();
  ImGui::SameLine(left + std::floor(width * kMeanColumn));
  if (head.texts == 0) return ImGui::TextUnformatted("\u2013");  // no text has what it measures
  ImGui::TextUnformatted(fmt::format("{:.3f} \u00B1 {:.3f}", head.mean, head.spread).c_str());
  ImGui::SameLine(left + std::floor(width * kRankColumn));
  ImGui::TextUnformatted(fmt::format("{}.", head.place).c_str());
}

}  // namespace

const SurveyExample* draw_survey_panel(Frame& frame, NumberBeingTyped& typed, const Survey& survey, std::size_t& metric) {
  Form form(frame, typed, "survey");
  const Selection& selected = frame.state.selection;
  const std::uint32_t layer = selected.block.layer.value;
  if (selected.block.kind != model::BlockKind::EncoderSelf || layer >= survey.layers || selected.head >= survey.heads) {
    form.note("The survey has no such head.");
    return nullptr;
  }
  if (!is_name_of(survey.model, model_path(frame.state.source))) {
    form.warning(
        fmt::format("Measured with {}, which is not on show.", std::filesystem::path(survey.model).filename().string()));
  }
  form.note(fmt::format("L{}H{} over {} texts: mean \u00B1 spread, rank of {} heads", layer, selected.head, survey.texts,
                        survey.layers * survey.heads));
  {
    const shell::ControlGroup group(frame.ui.keyboard(), "metrics");
    for (std::size_t i = 0; i < survey.metrics.size(); ++i) {
      draw_surveyed_metric(frame, survey, i, survey.head(i, layer, selected.head), metric);
    }
  }
  ImGui::Separator();
  const SurveyExample* clicked = nullptr;
  const std::vector<SurveyExample>& examples = survey.head(metric, layer, selected.head).examples;
  const shell::ControlGroup group(frame.ui.keyboard(), "texts");
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const SurveyExample& example = examples[i];
    frame.ui.ensure_glyphs(example.text);
    const std::string name = fmt::format("survey.example.{}", i);
    const std::string text = frame.ui.shaped(fmt::format("{:.3f}  {}", example.weight, example.text));
    if (ImGui::Selectable(fmt::format("{}##{}", text, name).c_str())) clicked = &example;
    mark_last_item(frame, name, "Shows this text, with the cell that has this weight pinned.");
  }
  if (examples.empty()) form.note("No text of the corpus has what this metric measures.");
  return clicked;
}

}  // namespace headlight::app
