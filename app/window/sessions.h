#pragma once

#include "app/window/dialogs/file_dialog.h"
#include "app/window/dialogs/leave_dialog.h"
#include "app/window/dialogs/lost_dialog.h"
#include "app/window/models.h"
#include "app/window/steps.h"

namespace headlight::app {

/// The session that is open, and the dialog for files.
class Sessions final : public Feature {
 public:
  /// `session`: the one that the desk's state comes from. `kept`: knows lost windows; null: there are none.
  Sessions(Desk& desk, Models& models, Lessons& lessons, Steps& steps, std::optional<OpenSession> session, KeptWindow* kept)
      : Feature(desk),
        models_(models),
        lessons_(lessons),
        steps_(steps),
        session_(std::move(session)),
        kept_(kept),
        record_use_(session_ ? RecordUse::Compare : RecordUse::None) {}

  const FileDialog& files() const { return files_; }
  /// Returns the path of the open session; empty: none is open.
  std::filesystem::path open_path() const { return session_ ? session_->path : std::filesystem::path(); }
  /// Returns the window's title: "notes* – Headlight", where the star says that the session has changes that aren't saved.
  std::string title() const;
  /// Opens dropped files: a text, a session, a lesson, a layout, a survey, or a model.
  void open_files(const std::vector<std::string>& paths);

  /// Returns saved steps, surveys and files of prompts that were opened and are there still, then models, the newest first.
  std::vector<std::string> recent() const;
  /// Opens a recent file or model by its kind.
  void open_recent(const std::string& path);

  void save();
  /// Asks for a file, and saves to it or opens it. A picture is the window's: it calls ask().
  void ask_for(FilePurpose purpose);

  /// Calls `go`, which leaves the open session: once the user has answered where it has changes that aren't saved.
  void leave(std::function<void()> go);
  /// Is the user being asked?
  bool asks() const { return leaving_ != nullptr; }
  /// Opens the list of windows that ended without being closed.
  void show_lost();

  void dialog(Frame& frame) override;
  bool close() override {
    const bool was_open = files_.is_open() || asks() || lost_.is_open();
    files_.close();
    lost_.close();
    leaving_ = nullptr;
    return was_open;
  }
  /// Called once the run is sampled: adds the record to a session file that was saved, or reports how far an opened one's
  /// numbers are from its record.
  void use_record(Frame& frame);

  using UseFile = std::function<void(Sessions&, const std::filesystem::path&)>;
  /// Asks for a file, and calls `use` with it; an error that it throws is said in the dialog.
  void ask(FilePurpose purpose, const std::filesystem::path& current, UseFile use);

 private:
  /// The task that waits for numbers of the session's run; dropped when the inputs change.
  enum class RecordUse : std::uint8_t { None, Write, Compare };

  void show_text(const std::filesystem::path& path);
  void show_prompts(const std::filesystem::path& path);
  void show_layout(const std::filesystem::path& path);
  void save_layout(const std::filesystem::path& path);
  void show_lens(const std::filesystem::path& path);
  void show_capture(const std::filesystem::path& path);
  void save_steps(const std::filesystem::path& path) { steps_.save(path); }
  /// Shows a survey in the view of surveys. Throws Error where the path is none.
  void show_survey(const std::filesystem::path& path);
  /// Shows another state. `session`: what the state comes from; `name`: its file's name, shown before what differs from the
  /// trained model.
  void show_state(State state, std::optional<OpenSession> session, const std::string& name);
  void answer_leaving(LeaveChoice choice);
  void use_lost(const LostChoice& choice);
  /// Throws Error, as the next one: the session that is open stays.
  void show_session(const std::filesystem::path& path);
  void write_session(const std::filesystem::path& path);

  Models& models_;
  Lessons& lessons_;
  Steps& steps_;
  std::optional<OpenSession> session_;
  KeptWindow* kept_;
  RecordUse record_use_;
  FileDialog files_;
  UseFile use_;  ///< of the file that the dialog asks for
  LostDialog lost_;
  std::function<void()> leaving_;  ///< what waits for the user's answer; null: nothing
  std::string leaving_trouble_;    ///< why the session couldn't be saved then
};

}  // namespace headlight::app
