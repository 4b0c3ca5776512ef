#include "app/state/session_file.h"
#include "app/survey/survey_reader.h"
#include "app/widgets/controls.h"
#include "app/window/desk.h"

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

/// What a survey says of the selected head: its place by each metric, and the texts that show the chosen metric best.
class SurveyedHeads final : public Feature {
 public:
  SurveyedHeads(Desk& desk, Survey survey) : Feature(desk), survey_(std::move(survey)) {}

  void section(Frame& frame) override {
    draw_section(frame, desk_.layout.sidebar, "survey", "What this head does", is_open_, [&] { draw(frame); });
  }

 private:
  void draw(Frame& frame) {
    Form form(frame, desk_.typed, "survey");
    const Selection& selected = frame.state.selection;
    const std::uint32_t layer = selected.block.layer.value;
    if (selected.block.kind != model::BlockKind::EncoderSelf || layer >= survey_.layers || selected.head >= survey_.heads)
      return form.note("The survey has no such head.");
    if (!is_name_of(survey_.model, model_path(frame.state.source))) {
      form.warning(
          fmt::format("Measured with {}, which is not on show.", utf8(std::filesystem::path(survey_.model).filename())));
    }
    form.note(fmt::format("L{}H{} over {} texts: mean \u00B1 spread, rank of {} heads", layer, selected.head, survey_.texts,
                          survey_.layers * survey_.heads));
    {
      const shell::ControlGroup group(frame.ui.keyboard(), "metrics");
      for (std::size_t i = 0; i < survey_.metrics.size(); ++i) {
        draw_surveyed_metric(frame, survey_, i, survey_.head(i, layer, selected.head), metric_);
      }
    }
    ImGui::Separator();
    const std::vector<SurveyExample>& examples = survey_.head(metric_, layer, selected.head).examples;
    const shell::ControlGroup group(frame.ui.keyboard(), "texts");
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const SurveyExample& example = examples[i];
      frame.ui.ensure_glyphs(example.text);
      const std::string name = fmt::format("survey.example.{}", i);
      const std::string text = frame.ui.shaped(fmt::format("{:.3f}  {}", example.weight, example.text));
      if (ImGui::Selectable(fmt::format("{}##{}", text, name).c_str())) desk_.post([this, example] { show(example); });
      mark_last_item(frame, name, "Shows this text, with the cell that has this weight pinned.");
    }
    if (examples.empty()) form.note("No text of the corpus has what this metric measures.");
  }

  /// The text, with the cell that has the weight pinned.
  void show(const SurveyExample& example) {
    if (!is_model(desk_.state.source)) return;
    desk_.stop_generating();
    desk_.undo.seal();
    desk_.state.model().text = example.text;
    desk_.state.selection.batch = 0;
    if (is_name_of(survey_.model, model_path(desk_.state.source))) {
      // The same tokens as those that were measured, whatever the text's own settings would make of it.
      desk_.state.model().ids = {example.ids};
      desk_.state.view.pinned = attention::Cell{.query = example.query, .key = example.key};
    } else {  // whose tokens are others
      desk_.state.model().ids.clear();
      desk_.state.view.pinned.reset();
    }
    desk_.ui.ensure_glyphs(example.text);
  }

  Survey survey_;
  std::size_t metric_ = 0;  ///< whose texts are listed
  bool is_open_ = true;
};

}  // namespace

std::unique_ptr<Feature> survey_feature(Desk& desk, Survey survey) {
  return std::make_unique<SurveyedHeads>(desk, std::move(survey));
}

}  // namespace headlight::app
