#include <exception>

#include "app/analyses/run_sample.h"
#include "app/models/starter_view.h"
#include "app/state/model_changes.h"
#include "app/state/opened_file.h"
#include "app/state/portable_state.h"
#include "app/window/workspace.h"
#include "capture/capture_file.h"
#include "core/error.h"

namespace headlight::app {

namespace fs = std::filesystem;

void Workspace::open_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  const fs::path path = paths.front();
  const FileKind kind = kind_of_file(path);
  if (kind == FileKind::Capture) return open_capture(path);
  if (kind == FileKind::Model) return open_model(path);
  try {
    kind == FileKind::Session ? show_session(path) : kind == FileKind::Lesson ? show_lesson(path) : show_text(path);
  } catch (const std::exception& error) {
    notice_ = {.text = error.what(), .is_warning = true};
  }
  ui_.request_redraw();
}

void Workspace::show_text(const fs::path& path) {
  app::open_text(path, state_);
  notice_ = {};
  ui_.ensure_glyphs(state_.text());
}

void Workspace::show_session(const fs::path& path) {
  const Result<State> loaded = load_session(path);
  if (!loaded) throw Error("{}", loaded.error());
  stop_generating();  // and what was done before is a step of its own
  state_ = *loaded;
  find_moved_model(state_);
  for (const std::string& recent : settings_.recent_models) find_at(state_, recent);
  session_.reset();  // a figure is no place to save to
  if (!is_figure_path(path)) session_ = OpenSession{.path = path, .saved = state_};
  record_use_ = RecordUse::Compare;
  const std::string changed = model_changes(state_);
  notice_ = {};
  if (!changed.empty()) notice_ = {.text = fmt::format("{}: {}", path.filename().string(), changed)};
  for (const std::string* text :
       {&state_.text(), &state_.playground().key_text, &state_.model().pair_text, &state_.model().target_text}) {
    ui_.ensure_glyphs(*text);
  }
}

void Workspace::show_capture(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  // The engine opens its own; what is wrong with it is told before anything changes.
  const capture::CaptureFile file(whole, false);
  stop_generating();
  undo_.seal();
  select_capture(state_, whole.string());
  notice_ = {.text = file.note()};
}

void Workspace::open_capture(const fs::path& path) {
  try {
    show_capture(path);
    model_browser_.close();
  } catch (const std::exception& error) {
    if (model_browser_.is_open()) {
      model_browser_.refuse(error.what());
    } else {
      notice_ = {.text = error.what(), .is_warning = true};
    }
  }
  ui_.request_redraw(2);
}

void Workspace::write_session(const fs::path& path) {
  app::save_session(path, state_);
  session_ = OpenSession{.path = path, .saved = state_};
  record_use_ = RecordUse::Write;
  notice_ = {.text = fmt::format("Saved {}", path.string())};
}

void Workspace::use_record(Frame& frame) {
  if (record_use_ == RecordUse::None) return;
  if (!session_ || run_inputs(state_) != run_inputs(session_->saved)) {
    record_use_ = RecordUse::None;
    return;
  }
  if (!is_current()) return;
  const Analysed* sampled = frame.ask(AnalysisQuery{.analysis = &kRunSample});
  if (!sampled || !sampled->is_done || sampled->run != result_.run) return;
  const RecordUse use = std::exchange(record_use_, RecordUse::None);
  const auto* numbers = sampled->as<RunSample>();
  if (!numbers) return;  // the run can't be sampled: the session stays without a record
  const SessionRecord computed = record_of(*numbers, result_.device);
  try {
    if (use == RecordUse::Write) return app::save_session(session_->path, session_->saved, &computed);
    const std::optional<SessionRecord> saved = load_record(session_->path);
    if (!saved) return;
    const RecordAgreement agreement = compare(*saved, computed);
    if (!notice_.text.empty()) notice_.text += " · ";
    notice_.text += describe(agreement, *saved);
    notice_.is_warning |= !agrees(agreement) || !agreement.is_same_model;
  } catch (const std::exception& error) {
    notice_ = {.text = error.what(), .is_warning = true};
  }
}

void Workspace::save_session() {
  if (!session_) return save_session_as();
  try {
    write_session(session_->path);
  } catch (const std::exception& error) {
    notice_ = {.text = error.what(), .is_warning = true};
  }
}

void Workspace::save_session_as() {
  file_dialog_.open(FilePurpose::SaveSession, session_ ? session_->path : fs::path(), settings_.export_directory);
}

void Workspace::open_session() {
  file_dialog_.open(FilePurpose::OpenSession, session_ ? session_->path : fs::path(), settings_.export_directory);
}

void Workspace::open_capture() {
  const fs::path shown = capture_path(state_.source);
  file_dialog_.open(FilePurpose::OpenCapture, shown, settings_.export_directory);
}

void Workspace::open_text() { file_dialog_.open(FilePurpose::OpenText, {}, settings_.export_directory); }

void Workspace::draw_file_dialog(Frame& frame) {
  const std::optional<FileDialog::Choice> choice = file_dialog_.draw(frame);
  if (!choice) return;
  chosen_file_ = choice;
  ui_.request_redraw();  // the next frame does it
}

void Workspace::take_file_choice() {
  const std::optional<FileDialog::Choice> choice = std::exchange(chosen_file_, std::nullopt);
  if (!choice) return;
  try {
    switch (choice->purpose) {
      case FilePurpose::SaveSession:
        write_session(choice->path);
        break;
      case FilePurpose::OpenSession:
        show_session(choice->path);
        break;
      case FilePurpose::OpenText:
        show_text(choice->path);
        break;
      case FilePurpose::OpenCapture:
        show_capture(choice->path);
        break;
    }
    file_dialog_.close();
  } catch (const std::exception& error) {
    file_dialog_.refuse(error.what());
  }
  ui_.request_redraw(2);
}

std::string Workspace::title() const {
  if (!session_) return "Headlight";
  return fmt::format("{}{} \u2013 Headlight", session_name(session_->path),
                     has_unsaved_changes(*session_, state_) ? "*" : "");
}

}  // namespace headlight::app
