#include "app/data/survey/survey_settings.h"
#include "app/state/opened_file.h"
#include "app/views/corpus/corpus_parts.h"
#include "app/widgets/finding.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr float kFormWidth = 560.0F;

/// "captions-survey" beside "captions.txt".
std::string proposed_folder(const std::string& corpus) {
  const fs::path file(corpus);
  return corpus.empty() ? std::string() : utf8(file.parent_path() / (utf8(file.stem()) + "-survey"));
}

}  // namespace

void SurveyForm::open(const Frame& /*frame*/) {
  is_open_ = true;
  focus_ = shell::FieldFocus::SelectAll;
  trouble_.clear();
}

void SurveyForm::survey_example(Frame& frame) {
  try {
    frame.surveys->start(example_survey(model_path(frame.state.source)));
  } catch (const std::exception& error) {
    open(frame);
    trouble_ = error.what();
  }
}

void SurveyForm::draw(Frame& frame) {
  constexpr const char* kTitle = "Survey a text";
  if (was_visible_ && !ImGui::IsPopupOpen(kTitle)) is_open_ = false;  // Escape closes popups
  const Dialog dialog(frame, kTitle, is_open_, kFormWidth);
  was_visible_ = dialog.is_visible();
  if (!was_visible_) return files_.close();
  const std::string model = model_path(frame.state.source);
  const std::string proposed = proposed_folder(corpus_);
  const bool is_proposed = folder_.empty() || folder_ == proposed;
  frame.transient.takes_path = true;
  if (std::string dropped = std::exchange(frame.transient.dropped, {}); !dropped.empty()) corpus_ = std::move(dropped);
  if (files_.is_open()) {
    constexpr float kListHeight = 320.0F;
    if (const auto chosen = files_.draw(frame, kListHeight)) (browses_folder_ ? folder_ : corpus_) = utf8(*chosen);
    if (!browses_folder_ && is_proposed) folder_ = proposed_folder(corpus_);
    if (!files_.is_open()) focus_ = shell::FieldFocus::AtEnd;
    return;
  }
  bool is_confirmed = false;
  const auto field = [&](const std::string& name, const char* label, std::string& text, const char* hint,
                         const char* explanation) {
    write_note(frame, label);
    const float button = button_width("Browse") + ImGui::GetStyle().ItemSpacing.x;
    const bool is_entered = frame.ui.text_field(
        fmt::format("##{}", name).c_str(), text,
        {.width = width_left() - button,
         .focus = &text == &corpus_ ? std::exchange(focus_, shell::FieldFocus::None) : shell::FieldFocus::None,
         .passes_escape = true,
         .hint = hint,
         .enter_confirms = true});
    is_confirmed = is_confirmed || is_entered;
    mark_last_item(frame, name, explanation);
    ImGui::SameLine();
    if (!draw_button(frame, name + ".browse", "Browse", "Goes through folders.")) return;
    browses_folder_ = &text == &folder_;
    files_.open(text);
  };
  write_note(frame, model.empty()
                        ? "What every head does over a whole corpus. Open a language model first (Ctrl+O)."
                        : fmt::format("What every head of {} does over a whole corpus, measured in the background.",
                                      utf8(fs::path(model).filename())));
  field("corpus.form.file", "Text file, a text a line; .jsonl and .gz too", corpus_, "~/captions.txt",
        "The corpus: a text a line, UTF-8, plain or .gz. A file that is dropped on the window comes here.");
  if (is_proposed) folder_ = proposed_folder(corpus_);
  field("corpus.form.folder", "Folder to write into, and to go on in", folder_, "~/captions-survey",
        "Where the survey is written; one that was interrupted there goes on.");
  Form form(frame, typed_, "corpus.form");
  if (form.fold("all", "Options", shows_all_, "What is measured, and how, as the flags of headlight survey say it.")) {
    for (const SettingGroup* group :
         {static_cast<const SettingGroup*>(&kSurveyCorpus), static_cast<const SettingGroup*>(&kSurveyModel)}) {
      for (const AnySetting* setting : group->settings) form.setting(*setting, choices_);
    }
  }
  if (!trouble_.empty()) write_note(frame, trouble_, frame.ui.theme().warning, "corpus.form.trouble");
  ImGui::Spacing();
  const bool can_begin = !model.empty() && !corpus_.empty() && !folder_.empty();
  ImGui::BeginDisabled(!can_begin);
  const bool is_clicked = draw_button(frame, "corpus.form.start", "Start",
                                      "Measures in a process of its own; the window goes on meanwhile (Enter).", 96.0F);
  ImGui::EndDisabled();
  ImGui::SameLine();
  if (draw_button(frame, "corpus.form.cancel", "Cancel", "Leaves everything as it is.", 96.0F)) is_open_ = false;
  if (can_begin && (is_confirmed || is_clicked)) {
    try {
      frame.surveys->start({.corpus = fs::absolute(expand_home(corpus_)),
                            .folder = fs::absolute(expand_home(folder_)).lexically_normal(),
                            .model = model,
                            .choices = choices_});
      is_open_ = false;
    } catch (const std::exception& error) {
      trouble_ = error.what();
      focus_ = shell::FieldFocus::AtEnd;  // to mend it
    }
  }
  if (!is_open_) ImGui::CloseCurrentPopup();
}

void SurveyForm::draw_progress(Frame& frame) {
  SurveyChild* child = frame.surveys->child();
  if (!child) return;
  const SurveyChild::View view = child->view();
  if (view.is_whole) return;
  const std::string file = utf8(child->order().corpus.filename());
  const shell::Theme& theme = frame.ui.theme();
  std::string said = view.shards == 0
                         ? fmt::format("Surveying {}\u2026", file)
                         : fmt::format("{} {}: {} of {} shards, {} texts", view.has_ended ? "Paused:" : "Surveying", file,
                                       view.done, view.shards, view.texts);
  if (!view.error.empty()) said = view.error;
  constexpr float kButton = 80.0F, kProgress = 120.0F;
  const bool has_bar = view.error.empty() && view.shards > 0;
  const float room = width_left() - kButton - 24.0F - (has_bar ? kProgress + 10.0F : 0.0F);
  frame.ui.ensure_glyphs(said);
  write_label(frame.ui.fonts().small, view.error.empty() ? theme.text : theme.warning,
              fit_text(frame.ui.fonts().small, said, room));
  explain_last_item(frame, said.c_str());
  frame.mark("corpus.progress", last_item_rect());
  ImGui::SameLine(0.0F, 10.0F);
  if (has_bar) {
    const glm::vec2 at = cursor_position() + glm::vec2(0.0F, 8.0F);
    const float share = static_cast<float>(view.done) / static_cast<float>(view.shards);
    fill_rect(at, at + glm::vec2(kProgress, 8.0F), theme.field, 3.0F);
    fill_rect(at, at + glm::vec2(kProgress * share, 8.0F), theme.accent, 3.0F);
    ImGui::Dummy({kProgress, 16.0F});
    ImGui::SameLine(0.0F, 10.0F);
  }
  if (view.has_ended) {
    if (draw_button(frame, "corpus.resume", "Go on", "Goes on where it was.", kButton)) {
      frame.surveys->start(SurveyOrder(child->order()));
    }
  } else if (draw_button(frame, "corpus.pause", "Pause", "Ends it for now; what is measured is kept.", kButton)) {
    child->pause();
  }
}

}  // namespace headlight::app
