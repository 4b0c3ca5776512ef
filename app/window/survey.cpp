#include "app/data/survey/survey_room.h"
#include "app/engine/analyses/head_metric_text.h"
#include "app/models/starter_view.h"
#include "app/state/corpus_settings.h"
#include "app/state/session_file.h"
#include "app/widgets/controls.h"
#include "app/window/models.h"

namespace headlight::app {
namespace {

/// The starts of the numbers in a row, as shares of the panel's width.
constexpr float kMeanColumn = 0.42F, kRankColumn = 0.86F;
constexpr float kNameGap = 6.0F;  // after a metric's name

/// Draws one metric of the head: its mean and rank; a click chooses whose texts are listed.
void draw_surveyed_metric(Frame& frame, const Survey& survey, std::size_t index, const SurveyedHead& head,
                          std::size_t& metric) {
  const std::string name = fmt::format("survey.metric.{}", index);
  const float left = ImGui::GetCursorPosX(), width = ImGui::GetContentRegionAvail().x;
  const std::string shown = fit_text(ImGui::GetFont(), survey.metrics[index], std::floor(width * kMeanColumn) - kNameGap);
  if (ImGui::Selectable(fmt::format("{}##{}", shown, name).c_str(), index == metric)) metric = index;
  mark_last_item(frame, name, "Mean and spread over the corpus, and the head's rank among all; a click lists its texts.");
  if (index == metric) frame.ui.keyboard().prefer_last();
  ImGui::SameLine(left + std::floor(width * kMeanColumn));
  if (head.texts == 0) return ImGui::TextUnformatted("\u2013");  // no text has what it measures
  ImGui::TextUnformatted(head.mean_text().c_str());
  ImGui::SameLine(left + std::floor(width * kRankColumn));
  ImGui::TextUnformatted(fmt::format("{}.", head.place).c_str());
}

/// Would the example's target, typed as a text, be the tokens that were measured?
bool has_target_tokens(const inference::LanguageModel* model, const SurveyExample& example) {
  try {
    return model && example.target.find('\n') == std::string::npos &&
           inference::target_ids(*model, example.target) == example.target_ids;
  } catch (const Error&) {  // another model
    return false;
  }
}

/// The open survey: what it says of the selected head, in the right panel, and texts of it that are to be shown.
class Surveys final : public Feature {
 public:
  Surveys(Desk& desk, Models& models, SurveyRoom& room) : Feature(desk), models_(models), room_(room) {}

  void begin_frame() override {
    const std::shared_ptr<const Survey> before = room_.survey();
    if (const auto made = room_.update(desk_.state[kCorpusView.folder], desk_.now_s)) {
      desk_.undo.seal();
      desk_.state.set(kCorpusView.folder, utf8(*made));
      desk_.tell(fmt::format("The survey is whole: {}", utf8(*made)));
    }
    if (room_.survey() != before) desk_.ui.request_redraw(2);
    if (std::optional<AskedExample> asked = room_.take_asked()) begin_to_show(std::move(*asked));
    if (!opening_ || !room_.survey()) return;
    if (shows_its_model()) {
      show(*std::exchange(opening_, std::nullopt));
    } else if (!models_.jobs().is_opening()) {
      opening_.reset();  // which couldn't be opened, and that was said
    }
  }

  void property(Frame& frame) override {
    // The page of a head in the view Corpus says it itself, and of another model a survey says nothing.
    const bool is_page = frame.state.view.tab == "corpus" && frame.state[kCorpusView.mode] == CorpusMode::Head;
    if (!room_.survey() || is_page || !shows_its_model()) return;
    const std::string title = fmt::format("In {} texts of a survey", room_.survey()->texts);
    draw_section(frame, window_rect(), "survey", title.c_str(), is_open_, [&] { draw(frame, *room_.survey()); });
  }

  std::string pending() const override { return room_.is_reading() ? "a survey is read" : std::string(); }
  double redraw_after_s() const override { return room_.wait_s(); }

 private:
  bool shows_its_model() const { return is_name_of(room_.survey()->model, model_path(desk_.state.source)); }

  void draw(Frame& frame, const Survey& survey) {
    Form form(frame, desk_.typed, "survey");
    const Selection& selected = frame.state.selection;
    const std::size_t place = survey.layout.find(selected.block, selected.head);
    if (place == survey.count()) {
      return form.note(selected.block.kind == model::BlockKind::EncoderSelf || survey.layout.has_kinds()
                           ? "The survey is of a model without such a head."
                           : "The survey measured the encoder's heads alone, because its texts have no targets.");
    }
    form.note(fmt::format("{} over {} texts: mean \u00B1 spread, rank of {} heads", head_name(selected.head_ref()),
                          survey.texts, survey.count()));
    if (const auto own = room_.notes().find(survey.name(place)); own != room_.notes().end())
      form.note(fmt::format("Your note: {}{}{}", own->second.label, own->second.label.empty() ? "" : " \u00B7 ",
                            own->second.text));
    metric_ = std::min(metric_, survey.metrics.size() - 1);
    {
      const shell::ControlGroup group(frame.ui.keyboard(), "metrics");
      for (std::size_t i = 0; i < survey.metrics.size(); ++i) {
        draw_surveyed_metric(frame, survey, i, survey.head(i, place), metric_);
      }
    }
    ImGui::Separator();
    const std::vector<SurveyExample>& examples = survey.head(metric_, place).examples;
    if (!examples.empty()) form.note(fmt::format("Its {} in a text, and the text:", survey.metrics[metric_]));
    const shell::ControlGroup group(frame.ui.keyboard(), "texts");
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const SurveyExample& example = examples[i];
      frame.ui.ensure_glyphs(example.text);
      const std::string name = fmt::format("survey.example.{}", i);
      const std::string text =
          fit_text(ImGui::GetFont(), frame.ui.shaped(fmt::format("{:.3f}  {}", example.value, example.text)),
                   ImGui::GetContentRegionAvail().x);
      if (ImGui::Selectable(fmt::format("{}##{}", text, name).c_str())) {
        desk_.post([this, asked = AskedExample{.example = example, .head = {selected.block, selected.head}}] {
          desk_.stop_generating();
          show(asked);
        });
      }
      const std::string about =
          fmt::format("Shows this text, with the cell of its largest weight, {:.3f}, pinned.", example.weight);
      mark_last_item(frame, name, about.c_str());
    }
    if (!examples.empty()) return;
    form.note(selected.block.kind == model::BlockKind::Cross
                  ? "Cross-attention has no such number where it compares positions in one text."
                  : "No text of the corpus has what this metric measures.");
  }

  /// Opens the survey's model first where another one is shown: text and cell come in the same frame as it, as one step of
  /// the history.
  void begin_to_show(AskedExample asked) {
    if (!room_.survey()) return;
    desk_.stop_generating();  // not when the model is there: that would end the step
    if (!shows_its_model()) {
      models_.open(named_model(room_.survey()->model));
    }
    opening_ = std::move(asked);
  }

  /// Shows the text, with the cell that has the weight pinned.
  void show(const AskedExample& asked) {
    const SurveyExample& example = asked.example;
    if (!is_model(desk_.state.source) || !room_.survey()) return;
    desk_.undo.seal();
    desk_.state.model().text = example.text;
    desk_.state.selection.batch = 0;
    if (shows_its_model()) {
      // The tokens are those that were measured, whatever the text's own settings would make of it.
      desk_.state.model().ids = {example.ids};
      if (!example.target_ids.empty()) {  // shown as text, which the user can go on with, where its tokens are equal
        const bool is_text = has_target_tokens(desk_.result.model.get(), example);
        desk_.state.model().target_text = is_text ? example.target : std::string();
        desk_.state.model().target_ids.clear();
        if (!is_text) desk_.state.model().target_ids.push_back(example.target_ids);
      }
      desk_.state.view.pinned = attention::Cell{.query = example.query, .key = example.key};
      select_head(desk_.state.selection, asked.head);
    } else {  // whose tokens are others
      desk_.state.model().ids.clear();
      desk_.state.view.pinned.reset();
    }
    desk_.ui.ensure_glyphs(example.text);
    desk_.ui.request_redraw(2);
  }

  Models& models_;
  SurveyRoom& room_;
  std::optional<AskedExample> opening_;  ///< until its model is on show
  std::size_t metric_ = 0;               ///< whose texts are listed
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<Feature> survey_feature(Desk& desk, Models& models, SurveyRoom& room) {
  return std::make_unique<Surveys>(desk, models, room);
}

}  // namespace headlight::app
