#pragma once

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "app/state/session_file.h"
#include "app/state/settings.h"
#include "platform/file.h"

namespace headlight::app {

/// Decides when to save a value that changes often: once it has been quiet for a moment, and every 10 s while it keeps
/// changing.
template <typename Value>
class QuietChange {
 public:
  explicit QuietChange(Value saved) : saved_(std::move(saved)), seen_(saved_) {}

  /// Returns the seconds from `now_s` (any steady clock) until `value` is to be saved; 0: now; infinity: it is.
  double wait_s(const Value& value, double now_s) {
    see(value, now_s);
    if (seen_ == saved_) return std::numeric_limits<double>::infinity();
    return std::max(std::min(changed_at_s_ + kQuiet_s, unsaved_since_s_ + kMaxUnsaved_s) - now_s, 0.0);
  }
  void see(const Value& value, double now_s) {
    if (value == seen_) return;
    if (seen_ == saved_) unsaved_since_s_ = now_s;
    seen_ = value;
    changed_at_s_ = now_s;
  }
  const Value& seen() const { return seen_; }
  /// Notes that `value` is saved, or that another attempt is not to be made.
  void settle(const Value& value) { saved_ = seen_ = value; }

 private:
  static constexpr double kQuiet_s = 2.0, kMaxUnsaved_s = 10.0;

  Value saved_, seen_;
  double changed_at_s_ = 0.0;
  double unsaved_since_s_ = 0.0;  ///< while seen_ isn't saved_
};

/// The part of a window that settings.json leaves out, so that it would be lost by a crash.
struct OpenWindow {
  State state;                    ///< with masks and interventions
  std::filesystem::path session;  ///< the session file that is open; empty: none

  bool operator==(const OpenWindow&) const = default;
};

/// Returns the session that a window had open, as its file is now; none where it had none, or the file can't be read any
/// more.
std::optional<OpenSession> session_of(const OpenWindow& window);

/// A kept window's content.
struct Kept {
  OpenWindow window;
  Settings settings;

  bool operator==(const Kept&) const = default;
};

/// A window that ended without being closed.
struct LostWindow {
  std::string name;  ///< of its files
  OpenWindow window;
  std::uint64_t counter = 0;     ///< KeptWindow's, when it was kept
  std::int64_t kept_s = 0;       ///< since 1970
  std::string end;               ///< what ended it, where it could still say so; empty: a kill, a crash, a power failure
  bool has_ended_start = false;  ///< it ended before all was computed that it began with: it may do so again
};

/// The window that a start goes on with.
struct Resumed {
  std::optional<LostWindow> window;  ///< KeptWindow has taken it; none: the state of the settings
  bool avoids_settings = false;      ///< … which has just ended a start
  std::string words;                 ///< for the user; empty: nothing was lost
};

/// The ways out of a window.
enum class WindowEnd : std::uint8_t {
  Closed,  ///< by its user: nothing is to be recovered
  Asked,   ///< by a signal, or its display went
  Failed   ///< by an error
};

/// An open window on disk: a file with its session state in recovery/, locked as long as the process lives, and
/// settings.json beside that folder. Both are written shortly after a change and at every way out, in the order of a counter
/// in that folder, so that a start finds the newest of all. Only the window's thread may call it, except for end().
class KeptWindow {
 public:
  /// Prepares to keep the window. `folder`: config_directory(). `loaded`: of the settings.json in it; one of a newer version
  /// is left alone.
  KeptWindow(std::filesystem::path folder, const LoadedSettings& loaded);

  /// Returns the folder of the windows' files.
  std::filesystem::path folder() const { return folder_ / "recovery"; }
  static constexpr std::size_t kMaxLost = 20;
  static constexpr std::int64_t kMaxAge_s = std::int64_t{30} * 24 * 3600;
  /// Windows that no process has open any more, the newest first. Removes those beyond kMaxLost and older than kMaxAge_s.
  /// Files that can't be read are left out, and those of a newer version are left alone. Never throws for what is there.
  std::vector<LostWindow> lost();
  /// Goes on with the newest lost window, unless the settings are newer, or it has ended a start already. `remembered`: the
  /// settings' state. With `may_resume` false it only reports that there are some.
  Resumed resume(const State& remembered, bool may_resume);
  /// Goes on with a lost window, which stays on disk until it is written as this one's. False: another process has it, or it
  /// is gone.
  bool take(const LostWindow& lost);
  void erase(const LostWindow& lost);

  /// Begins to keep the window, as one whose start may end the program.
  void begin(const Kept& kept);
  /// Notes what end() is to write.
  void see(const Kept& kept);
  /// Writes both files once the window has been quiet for a moment, and every 10 s while it keeps changing. Returns the
  /// seconds after which it must be called again without input; infinity when all is saved. Where the disk refuses, the next
  /// change is the next attempt.
  double keep(const Kept& kept, double now_s);
  /// Notes that everything that the window began with is computed and drawn: its state doesn't end the program.
  void prove();
  /// Returns why the window can't be kept, once; empty: it can, or that was returned before.
  std::string take_trouble() { return std::exchange(trouble_, {}); }
  /// Every way out of the window calls this, and the first call counts: both files are written, and the window's own is
  /// removed where it was closed and the settings are saved. `words`: what ended it. Any thread; never throws: returns the
  /// error in one line, or nothing.
  std::string end(WindowEnd how, const std::string& words) noexcept;

 private:
  struct Files {
    std::string name;
    platform::Descriptor lock;
  };
  std::filesystem::path state_file(const std::string& name) const { return folder() / (name + ".json"); }
  std::filesystem::path lock_file(const std::string& name) const { return folder() / (name + ".lock"); }
  std::optional<Files> lock(const std::string& name) const;
  void remove(const Files& files) const noexcept;
  void discard() noexcept;
  /// Returns the lock under which the counter was raised.
  platform::Descriptor raise_counter();
  /// Writes both files. Returns the error in one line, or nothing.
  std::string write(bool has_state, const std::string& end);
  void write_now();
  void write_state(const std::string& end);

  std::filesystem::path folder_;
  bool saves_settings_;
  std::uint64_t settings_counter_;  ///< in settings.json when it was loaded
  std::uint64_t counter_;           ///< the largest that was seen
  std::optional<Files> own_;
  std::vector<Files> taken_;  ///< beside its own
  std::mutex mutex_;          ///< of what follows
  QuietChange<Kept> change_{{}};
  bool is_lost_one_ = false;  ///< own_ is a lost window's
  bool is_starting_ = false, is_open_ = false, has_ended_ = false;
  std::string trouble_;
  bool has_told_trouble_ = false;
};

}  // namespace headlight::app
