#include "app/window/sessions.h"

#include "app/engine/analyses/run_sample.h"
#include "app/lessons/exercise.h"
#include "app/models/starter_view.h"
#include "app/state/corpus_settings.h"
#include "app/state/map_settings.h"
#include "app/state/model_changes.h"
#include "app/state/opened_file.h"
#include "app/state/predictions_settings.h"
#include "app/state/prompts_settings.h"
#include "app/state/view_pane.h"
#include "core/error.h"

namespace headlight::app {

namespace fs = std::filesystem;

void Sessions::open_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  const fs::path path = paths.front();
  desk_.ui.request_redraw(2);
  if (desk_.transient.takes_path) {
    desk_.transient.dropped = utf8(path);
    return;
  }
  desk_.attempt([&] {
    if (const std::string exercise = exercise_of(path); !exercise.empty()) {
      return desk_.tell(take_solution(exercise, path).says);
    }
    const FileKind kind = kind_of_file(path);
    if (kind == FileKind::Capture) return models_.open_capture(path);
    if (kind == FileKind::Model) return models_.open(utf8(path));
    if (kind == FileKind::Steps) return steps_.open(path);
    if (kind == FileKind::Survey) return show_survey(path);
    if (kind == FileKind::Layout) return show_layout(path);
    if (kind == FileKind::Text) return show_text(path);
    leave(
        [this, path, kind] { desk_.attempt([&] { kind == FileKind::Lesson ? lessons_.show(path) : show_session(path); }); });
  });
}

void Sessions::show_text(const fs::path& path) {
  app::open_text(path, desk_.state);
  desk_.notice = {};
  desk_.ui.ensure_glyphs(desk_.state.text());
}

void Sessions::show_survey(const fs::path& path) {
  const fs::path folder = survey_folder(path);
  if (folder.empty())
    throw Error("{} is no survey: it has neither survey.json, which headlight survey writes, nor scatter_data.json",
                utf8(path));
  desk_.undo.seal();
  desk_.state.set(kCorpusView.folder, utf8(folder));
  desk_.state.view.tab = "corpus";
  remember_file(desk_.settings, folder);
}

void Sessions::show_prompts(const fs::path& path) {
  desk_.state.set(kPromptsView.set, utf8(fs::absolute(path)));
  desk_.state.view.tab = "prompts";
  remember_file(desk_.settings, path);
}

void Sessions::show_layout(const fs::path& path) {
  load_layout(path, desk_.state.view);
  desk_.transient.shows_one_pane = false;
  remember_file(desk_.settings, path);
}

void Sessions::save_layout(const fs::path& path) {
  app::save_layout(path, desk_.state.view);
  remember_file(desk_.settings, path);
  desk_.tell(fmt::format("Saved {}", utf8(path)));
}

void Sessions::show_lens(const fs::path& path) {
  desk_.state.set(kPredictionsView.lens, utf8(fs::absolute(path)));
  desk_.state.set(kPredictionsView.part, PredictionsPart::Layers);
  desk_.state.view.tab = "predictions";
}

void Sessions::show_capture(const fs::path& path) { is_steps_path(path) ? steps_.open(path) : models_.show_capture(path); }

std::vector<std::string> Sessions::recent() const {
  std::vector<std::string> paths = desk_.settings.recent_files;
  paths.insert(paths.end(), desk_.settings.recent_models.begin(), desk_.settings.recent_models.end());
  std::error_code ignored;
  std::erase_if(paths, [&](const std::string& path) { return !fs::exists(path, ignored); });
  return paths;
}

void Sessions::open_recent(const std::string& path) {
  if (kind_of_file(path) != FileKind::Text) return open_files({path});
  desk_.undo.seal();
  show_prompts(path);
}

void Sessions::show_session(const fs::path& path) {
  Result<State> loaded = load_session(path);
  if (!loaded) throw Error("{}", loaded.error());
  show_state(std::move(loaded).value(), std::nullopt, utf8(path.filename()));
  if (desk_.state[kMapView.color_range] == ColorRange::Quantile) {
    if (!desk_.notice.text.empty()) desk_.notice.text += " · ";
    desk_.notice.text += "This session\u2019s colours end at 98 % of the weights: View, Colour range has others";
  }
  // A figure is no place to save to.
  if (!is_figure_path(path)) session_ = OpenSession{.path = path, .saved = desk_.state};
  record_use_ = RecordUse::Compare;
}

void Sessions::show_state(State state, std::optional<OpenSession> session, const std::string& name) {
  desk_.stop_generating();  // and what was done before is a step of its own
  desk_.state = std::move(state);
  find_moved_model(desk_.state);
  for (const std::string& recent : desk_.settings.recent_models) find_at(desk_.state, recent);
  session_ = std::move(session);
  record_use_ = RecordUse::None;
  const std::string changed = model_changes(desk_.state);
  desk_.tell(changed.empty() ? "" : fmt::format("{}: {}", name, changed));
  desk_.ensure_glyphs();
}

void Sessions::leave(std::function<void()> go) {
  if (!session_ || !has_unsaved_changes(*session_, desk_.state)) return go();
  leaving_ = std::move(go);
  leaving_trouble_.clear();
  desk_.ui.request_redraw(2);
}

void Sessions::answer_leaving(LeaveChoice choice) {
  if (choice == LeaveChoice::Save) {
    try {
      write_session(session_->path);
    } catch (const std::exception& error) {
      leaving_trouble_ = error.what();
      return;
    }
  }
  const std::function<void()> go = std::exchange(leaving_, nullptr);
  if (choice != LeaveChoice::Stay) go();
  desk_.ui.request_redraw(2);
}

void Sessions::show_lost() { lost_.open(kept_ ? kept_->lost() : std::vector<LostWindow>()); }

void Sessions::use_lost(const LostChoice& choice) {
  if (choice.action == LostChoice::Action::Open) {
    lost_.close();
    return leave([this, lost = choice.windows.front()] {
      if (!kept_->take(lost)) return desk_.warn("That window is gone, or another Headlight has opened it.");
      show_state(lost.window.state, session_of(lost.window), "Lost window");
    });
  }
  for (const LostWindow& lost : choice.windows) kept_->erase(lost);
  show_lost();
}

void Sessions::write_session(const fs::path& path) {
  app::save_session(path, desk_.state);
  session_ = OpenSession{.path = path, .saved = desk_.state};
  record_use_ = RecordUse::Write;
  desk_.tell(fmt::format("Saved {}", utf8(path)));
}

void Sessions::use_record(Frame& frame) {
  if (record_use_ == RecordUse::None) return;
  if (!session_ || run_inputs(desk_.state) != run_inputs(session_->saved)) {
    record_use_ = RecordUse::None;
    return;
  }
  if (!desk_.is_current()) return;
  const Analysed* sampled = frame.ask(RunSampleQuestion());
  if (!sampled || !sampled->is_done || sampled->run != desk_.result.run) return;
  const RecordUse use = std::exchange(record_use_, RecordUse::None);
  const auto* numbers = sampled->as<RunSample>();
  if (!numbers) return;  // the run can't be sampled: the session stays without a record
  const SessionRecord computed = record_of(*numbers, desk_.result.device);
  desk_.attempt([&] {
    if (use == RecordUse::Write) return app::save_session(session_->path, session_->saved, &computed);
    const std::optional<SessionRecord> saved = load_record(session_->path);
    if (!saved) return;
    const RecordAgreement agreement = compare(*saved, computed);
    if (!desk_.notice.text.empty()) desk_.notice.text += " · ";
    desk_.notice.text += describe(agreement, *saved);
    desk_.notice.is_warning |= !agrees(agreement) || !agreement.is_same_model;
  });
}

void Sessions::save() {
  if (!session_) return ask_for(FilePurpose::SaveSession);
  desk_.attempt([&] { write_session(session_->path); });
}

void Sessions::ask_for(FilePurpose purpose) {
  using enum FilePurpose;
  switch (purpose) {
    case SaveSession:
      return ask(purpose, open_path(), &Sessions::write_session);
    case SaveSteps:
      return ask(purpose, {}, &Sessions::save_steps);
    case SaveLayout:
      return ask(purpose, {}, &Sessions::save_layout);
    case OpenSession:
      return leave([this] { ask(OpenSession, open_path(), &Sessions::show_session); });
    case OpenText:
      return ask(purpose, {}, &Sessions::show_text);
    case OpenCapture:
      return ask(purpose, capture_path(desk_.state.source), &Sessions::show_capture);
    case OpenSurvey:
      return ask(purpose, desk_.state[kCorpusView.folder], &Sessions::show_survey);
    case OpenLens:
      return ask(purpose, desk_.state[kPredictionsView.lens], &Sessions::show_lens);
    case OpenPrompts:
      return ask(purpose, {}, &Sessions::show_prompts);
    case OpenLayout:
      return ask(purpose, {}, &Sessions::show_layout);
    case SavePicture:
      break;
  }
}

void Sessions::ask(FilePurpose purpose, const fs::path& current, UseFile use) {
  files_.open(purpose, current, desk_.settings.export_directory);
  use_ = std::move(use);
}

void Sessions::dialog(Frame& frame) {
  if (asks()) {
    const LeaveChoice choice = draw_leave_dialog(frame, session_name(session_->path), leaving_trouble_);
    if (choice != LeaveChoice::None) desk_.post([this, choice] { answer_leaving(choice); });
    return;
  }
  if (std::optional<LostChoice> choice = lost_.draw(frame))
    desk_.post([this, choice = std::move(*choice)] { use_lost(choice); });
  const std::optional<fs::path> path = files_.draw(frame);
  if (!path) return;
  desk_.post([this, path] {
    try {
      use_(*this, *path);
      files_.close();
    } catch (const std::exception& error) {
      files_.refuse(error.what());
    }
    desk_.ui.request_redraw(2);
  });
}

std::string Sessions::title() const {
  if (!session_) return "Headlight";
  return fmt::format("{}{} \u2013 Headlight", session_name(session_->path),
                     has_unsaved_changes(*session_, desk_.state) ? "*" : "");
}

}  // namespace headlight::app
