#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/data/survey/survey_child.h"
#include "app/data/survey/survey_folder.h"
#include "app/state/kept_window.h"
#include "app/state/view_choices.h"

namespace headlight::app {

/// The user's note about a head.
struct HeadNote {
  std::string label;  ///< a few words, by which the head is found
  std::string text;

  bool is_empty() const { return label.empty() && text.empty(); }
  bool operator==(const HeadNote&) const = default;
};
/// Notes by the head's name, "L5H1"; heads without a note have none.
using HeadNotes = std::map<std::string, HeadNote>;

/// Reads the notes of the file beside a survey; empty where there is none. Throws Error naming the file where it holds
/// something else.
HeadNotes read_notes(const std::filesystem::path& survey);
/// Writes that file. Throws Error naming it.
void write_notes(const std::filesystem::path& survey, const HeadNotes& notes);

/// A text of the survey that is to be shown, with the cell of a head.
struct AskedExample {
  SurveyExample example;
  HeadRef head;
};

/// The survey that the window shows, read in the background, with the user's notes about its heads, and the one that is made
/// meanwhile. All functions are the window's thread's; none waits but wait() and the destructor, which keeps notes.
class SurveyRoom {
 public:
  /// `wake`: called from other threads when there is news; may be empty.
  explicit SurveyRoom(std::function<void()> wake = {}) : wake_(std::move(wake)) {}
  ~SurveyRoom();
  SurveyRoom(const SurveyRoom&) = delete;
  SurveyRoom& operator=(const SurveyRoom&) = delete;

  /// Called once a frame: begins to read `folder` where it is another one, takes what was read, keeps notes. Returns the
  /// folder of a survey that has become whole, once.
  std::optional<std::filesystem::path> update(const std::filesystem::path& folder, double now_s);
  /// Takes a survey that was read already.
  void adopt(Survey survey);
  /// Returns the open survey; null: none is open, or not yet, or error() says why it can't be read.
  const std::shared_ptr<const Survey>& survey() const { return survey_; }
  const std::string& error() const { return error_; }
  bool is_reading() const { return reading_.valid(); }

  const HeadNotes& notes() const { return notes_; }
  void write_note(const std::string& head, HeadNote note);
  /// Returns why notes can't be read or kept; then they can't be changed, or are in the window alone.
  const std::string& notes_error() const { return write_error_.empty() ? notes_error_ : write_error_; }
  bool can_write_notes() const { return reads_notes_; }

  /// Makes a survey, or goes on with one; none may be under way.
  void start(const SurveyOrder& order);
  /// Returns the survey that is made; null: none was begun.
  SurveyChild* child() { return child_.get(); }

  /// Asks the window to show a text with its cell; it takes that once.
  void show(AskedExample asked) { asked_ = std::move(asked); }
  std::optional<AskedExample> take_asked() { return std::exchange(asked_, std::nullopt); }

  /// Returns the seconds until update() has something to do.
  double wait_s() const { return wait_s_; }
  /// Waits until nothing is being read (tests, screenshots).
  void wait() const;

 private:
  struct Read {
    std::shared_ptr<const Survey> survey;
    HeadNotes notes;
    std::string error, notes_error;
  };
  static Read read(const std::filesystem::path& folder);
  void take(Read read);
  void keep_notes(double now_s);
  void write_notes_now();

  std::function<void()> wake_;
  std::filesystem::path folder_;
  std::shared_ptr<const Survey> survey_;
  std::string error_, notes_error_, write_error_;  ///< of reading, of reading notes, of the last writing of notes
  std::future<Read> reading_;
  HeadNotes notes_;
  QuietChange<HeadNotes> unsaved_{HeadNotes()};
  std::future<std::string> writing_;  ///< notes; what went wrong
  bool reads_notes_ = false;          ///< the file could be read, or there is none
  std::unique_ptr<SurveyChild> child_;
  bool is_child_told_ = false;
  std::optional<AskedExample> asked_;
  double wait_s_ = 0.0;
};

}  // namespace headlight::app
