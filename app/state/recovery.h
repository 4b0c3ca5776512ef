#pragma once

#include "app/state/quiet_change.h"
#include "app/state/state.h"
#include "platform/file.h"

namespace headlight::app {

/// What a window has that settings.json leaves out, so that it would be lost by a crash.
struct OpenWindow {
  State state;                    ///< with masks and interventions
  std::filesystem::path session;  ///< the session file that is open; empty: none

  bool operator==(const OpenWindow&) const = default;
};

/// Keeps an open window on disk, so that the next start can go on where a crash, a kill or a power failure ended it. Used by
/// the window's thread.
class Recovery {
 public:
  /// Takes a name of its own in the folder, which it creates, and a lock that the kernel frees when the process ends in
  /// whatever way. Throws Error naming the file. `opened`: the window as it starts, which is not kept until it changes.
  Recovery(const std::filesystem::path& folder, OpenWindow opened);
  /// When it is destroyed, what was kept stays for the next start.
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// Saves the window, atomically, once it has been quiet for a moment, and every 10 s while it keeps changing. Returns the
  /// seconds after which it must be called again without input; infinity when all is saved. Where the disk refuses, the next
  /// change is the next attempt.
  double keep(const OpenWindow& window, double now_s);
  /// The window was closed: nothing is to be recovered.
  void discard() noexcept;

 private:
  std::filesystem::path file_, lock_file_;
  platform::Descriptor lock_;
  QuietChange<OpenWindow> change_;
};

/// The newest saved state of the windows that use the folder no longer; the files of all of them are deleted, so that a
/// state that ends the program is tried once. Files that can't be read count as none. Never throws.
std::optional<OpenWindow> take_lost_window(const std::filesystem::path& folder) noexcept;

/// config_directory()/recovery. Throws Error as config_directory().
std::filesystem::path recovery_folder();

}  // namespace headlight::app
