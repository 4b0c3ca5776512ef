#include "app/state/corpus_settings.h"
#include "app/state/map_settings.h"
#include "app/state/state_names.h"
#include "app/views/corpus/corpus_parts.h"
#include "app/views/view.h"
#include "app/widgets/cells/stage_text.h"
#include "app/widgets/finding.h"

namespace headlight::app {
namespace {

constexpr float kSearchWidth = 130.0F, kBesideDots = 0.64F;

/// What every head does over a corpus: a survey's folder.
class CorpusView final : public ViewPanel {
 public:
  void draw(Frame& frame) override {
    if (!frame.surveys) return;
    SurveyRoom& room = *frame.surveys;
    form_.draw(frame);
    if (!room.survey()) return draw_empty(frame, room);
    const Survey& survey = *room.survey();
    if (survey_ != room.survey()) {
      survey_ = room.survey();
      page_ = {};
      lasso_.clear();
      search_.clear();
    }
    const CorpusScene scene{.frame = frame,
                            .room = room,
                            .survey = survey,
                            .listed = listed_,
                            .lasso = lasso_,
                            .is_shown = is_name_of(survey.model, model_path(frame.state.source))};
    frame.says = survey_sentence(scene, scene.chosen());
    draw_title(scene);
    place_sentence(frame);
    SurveyForm::draw_progress(frame);
    draw_tools(scene);
    const bool is_table = frame.state[kCorpusView.mode] == CorpusMode::Table;
    listed_ = table_.list(survey_, frame.state, room.notes(), lasso_, search_, !is_table);
    keep_for_figure(scene);
    if (!listed_.empty()) copy_when_asked(frame, [&] { return csv(table_.view().table(), listed_); });
    move_by_keys(scene);
    switch (frame.state[kCorpusView.mode]) {
      case CorpusMode::Table:
        return table_.draw(scene);
      case CorpusMode::Head:
        return page_.draw(scene);
      case CorpusMode::Scatter:
      case CorpusMode::Layers:
        break;
    }
    const ColumnPair pair{.share = kBesideDots, .least = 620.0F};
    const auto dots = [&] { draw_scatter(scene, path_); };
    if (!pair.is_wide()) return dots();
    pair.draw(
        dots, [&] { table_.draw(scene); }, 0.0F);
  }

  std::unique_ptr<exporting::Drawing> figure() const override {
    const CorpusMode mode = choices_[kCorpusView.mode];
    if (!room_ || !survey_ || room_->survey() != survey_ || mode == CorpusMode::Head) return nullptr;
    if (mode != CorpusMode::Table) return scatter_figure(*survey_, choices_, lasso_, room_->notes(), colors_);
    return table_.view().figure({.title = "Heads over a corpus", .subtitle = survey_in_words(*survey_)});
  }

 private:
  /// Says what a survey shows, with the button that gets there first.
  void draw_empty(Frame& frame, const SurveyRoom& room) {
    if (room.is_reading()) return draw_empty_note(frame, "corpus.empty", "Reading the survey\u2026", "");
    SurveyForm::draw_progress(frame);
    if (!can_begin(frame))
      return draw_empty_note(frame, "corpus.empty", "A survey is on its way", "Its heads are here when it is whole.");
    const bool has_error = !room.error().empty();
    const bool has_example = is_model(frame.state.source) && frame.result.input && !frame.result.input->target;
    if (!has_error && frame.result.capture) {
      draw_empty_note(frame, "corpus.empty", "Not in the capture",
                      "A survey runs a network over many texts, and a capture has none. A folder that `headlight survey` "
                      "wrote opens all the same.");
    } else {
      draw_empty_note(
          frame, "corpus.empty", has_error ? "This survey can't be read" : "What every head does over many texts",
          has_error
              ? room.error()
              : fmt::format("Each head becomes a dot: how much it looks at the token before, at what came after the same "
                            "word, at the first token, with the texts that show it most. Survey {}a text of your own, "
                            "or open a folder that `headlight survey` wrote.",
                            has_example ? "the captions that come along, " : ""));
    }
    if (has_example && draw_first_button(frame, "corpus.example", "Survey the example captions",
                                         "Measures every head over some captions, a second or so for a small model."))
      form_.survey_example(frame);
    if (has_example) ImGui::SameLine(0.0F, 6.0F);
    draw_open_button(frame, !has_example);
    if (frame.result.capture) return;
    ImGui::SameLine(0.0F, 6.0F);
    draw_begin_button(frame);
  }

  static bool can_begin(const Frame& frame) {
    const SurveyChild* child = frame.surveys->child();
    return !child || child->view().has_ended;
  }

  static void draw_open_button(Frame& frame, bool is_first = false) {
    constexpr const char* kAbout = "Asks for the folder of a survey.";
    if (is_first ? draw_first_button(frame, "corpus.open", "Open\u2026", kAbout)
                 : draw_button(frame, "corpus.open", "Open\u2026", kAbout))
      frame.start_command("file.open_survey");
  }

  void draw_begin_button(Frame& frame) {
    ImGui::BeginDisabled(!can_begin(frame));
    if (draw_button(frame, "corpus.begin", "Survey a text\u2026",
                    "Measures every head over a text file, in the background."))
      form_.open(frame);
    ImGui::EndDisabled();
  }

  void draw_title(const CorpusScene& scene) {
    Frame& frame = scene.frame;
    const float buttons = button_width(kCopyCsv) + button_width("Open\u2026") + button_width("Survey a text\u2026") + 12.0F;
    const float end = ImGui::GetContentRegionMax().x - buttons;
    const std::string note = fmt::format("{} \u00B7 {} \u00B7 {} texts", utf8(scene.survey.directory.filename()),
                                         utf8(std::filesystem::path(scene.survey.model).filename()), scene.survey.texts);
    frame.ui.ensure_glyphs(note);
    draw_view_title(frame, "Corpus", end - ImGui::GetCursorPosX() - 12.0F);
    ImFont* small = frame.ui.fonts().small;
    const float after = ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x + 12.0F;
    if (end - after > 60.0F) {
      ImGui::SameLine(0.0F, 12.0F);
      draw_title_note(frame, fit_text(small, note, end - after - 12.0F));
    }
    ImGui::SameLine(end);
    draw_open_button(frame);
    ImGui::SameLine(0.0F, 6.0F);
    draw_begin_button(frame);
    ImGui::SameLine(0.0F, 6.0F);
    draw_copy_button(frame, "corpus.copy",
                     "Puts the heads that are listed and all their numbers on the clipboard, for spreadsheets.");
  }

  void draw_tools(const CorpusScene& scene) {
    Frame& frame = scene.frame;
    choose(frame, kCorpusView.mode);
    continue_line(kSearchWidth, 12.0F);
    const bool is_confirmed = frame.ui.text_field(
        "##search", search_, {.width = kSearchWidth, .hint = "L1H3, or a label", .enter_confirms = true, .limit = 200});
    mark_last_item(frame, "corpus.search", "Lists heads by name or label; Enter goes to the page of the first one.");
    const std::size_t named = scene.survey.find(search_);
    if (is_confirmed && !search_.empty() && (named < scene.survey.count() || !listed_.empty())) {
      scene.open(named < scene.survey.count() ? named : listed_.front());
      search_.clear();
      frame.ui.leave_text_field();
    }
    draw_kinds(scene);
    if (lasso_.empty()) return;
    const std::string label = fmt::format("{} encircled \u00D7###free", lasso_.size());
    continue_line(button_width(label.c_str()), 12.0F);
    if (draw_button(frame, "corpus.free", label.c_str(), "Lists all heads again.")) lasso_.clear();
  }

  /// Buttons that list the heads of one kind alone, as if they were encircled.
  void draw_kinds(const CorpusScene& scene) {
    for (const auto& [kind, name] : kKinds) {
      if (!scene.survey.layout.has_kinds()) return;
      continue_line(button_width(name.data()), kind == model::BlockKind::EncoderSelf ? 12.0F : 4.0F);
      const std::string help = fmt::format("Lists the heads of {} alone.", kind_text(kind));
      if (!draw_button(scene.frame, fmt::format("corpus.kind.{}", name), name.data(), help.c_str())) continue;
      lasso_.clear();
      for (std::size_t head = 0; head < scene.survey.count(); ++head) {
        if (scene.survey.layout.at(head).block.kind == kind) lasso_.push_back(head);
      }
    }
  }

  void move_by_keys(const CorpusScene& scene) const {
    if (has_popup() || listed_.empty()) return;
    const auto at = static_cast<std::size_t>(std::ranges::find(listed_, scene.chosen()) - listed_.begin());
    const std::size_t last = listed_.size() - 1;
    if (scene.frame.ui.is_pressed(shell::Key::Down)) scene.choose(listed_[at > last ? 0 : std::min(at + 1, last)]);
    if (scene.frame.ui.is_pressed(shell::Key::Up))
      scene.choose(listed_[at > last ? last : at - std::min<std::size_t>(at, 1)]);
    if (scene.frame.ui.is_pressed(shell::Key::Enter)) scene.open(scene.chosen());
  }

  void keep_for_figure(const CorpusScene& scene) {
    room_ = &scene.room;
    choices_ = scene.frame.state;
    colors_ = scene.frame.state[kMapView.color_map];
  }

  SurveyForm form_;
  HeadPage page_;
  CorpusTable table_;
  std::shared_ptr<const Survey> survey_;  ///< in the last frame
  std::vector<std::size_t> lasso_;        ///< ascending
  std::vector<std::size_t> listed_;       ///< in the last frame
  std::vector<glm::vec2> path_;           ///< of a drag around dots
  std::string search_;
  // Of what was drawn last, for the figure.
  const SurveyRoom* room_ = nullptr;
  Choices choices_;
  chart::ColorMap colors_ = chart::ColorMap::Viridis;
};

}  // namespace

std::size_t CorpusScene::chosen() const {
  const std::size_t selected = survey.layout.find(frame.state.selection.block, frame.state.selection.head);
  if (is_shown && selected < survey.count()) return selected;
  const std::size_t place = survey.layout.find(frame.state.survey_head.block, frame.state.survey_head.head);
  return place < survey.count() ? place : 0;
}

void CorpusScene::choose(std::size_t head) const {
  const HeadRef& chosen = frame.state.survey_head = survey.layout.at(head);
  if (is_shown && frame.result.shapes.contains(chosen.block)) select_head(frame.state.selection, chosen);
  frame.ui.request_redraw(2);
}

void CorpusScene::open(std::size_t head) const {
  choose(head);
  frame.state.set(kCorpusView.mode, CorpusMode::Head);
}

const HeadNote* CorpusScene::note(std::size_t head) const {
  const auto found = room.notes().find(survey.name(head));
  return found == room.notes().end() ? nullptr : &found->second;
}

std::string CorpusScene::title(std::size_t head) const {
  const HeadNote* known = note(head);
  return known && !known->label.empty() ? fmt::format("{} {}", shown_name(survey, head), known->label)
                                        : shown_name(survey, head);
}

std::unique_ptr<ViewPanel> open_corpus_view() { return std::make_unique<CorpusView>(); }

}  // namespace headlight::app
