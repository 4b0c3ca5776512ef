#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "platform/local_socket.h"

namespace headlight::platform {

/// Makes a program that is asked to end (SIGTERM, SIGINT, SIGHUP) end in order, so that nothing of it is left in folders
/// that are in memory: its loop is woken and sees that it is asked to. A second signal ends the process at once. Signals
/// that the parent had ignored stay so. One object at a time.
class EndSignals {
 public:
  /// `wake` is called from a thread of this object's. `error`: the system has no event left.
  EndSignals(std::function<void()> wake, std::error_code& error);
  /// Puts back what signals did before.
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  bool is_asked() const { return is_asked_; }
  /// Ends the process by the signal that asked for it, as its parent expects; nothing where none did.
  void pass_on() const;

 private:
  std::function<void()> wake_;
  Event event_;
  std::atomic<bool> is_asked_ = false;
  std::thread thread_;
};

/// Words that this process writes when Ctrl-C or SIGTERM ends it, as these signals do by default. Several may exist at
/// a time; each is written. Any thread.
class LastWords {
 public:
  /// `words`: at most 400 bytes, which replace the beginning of a file, or (also with `appends`) go after what was
  /// written. When kMax objects exist already, the words aren't kept.
  LastWords(int descriptor, std::string_view words, bool appends = false);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  static constexpr std::size_t kMax = 4;

 private:
  struct Slot;
  Slot* slot_ = nullptr;
};

/// From now on a fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE, or abort() as of an exception that nothing catches) writes `file`:
/// what note_for_crash() said last, and the stack of the thread. Then the program ends as it would have. Nothing is sent
/// anywhere. To be called once, before anything else handles these signals.
void keep_crash_reports(const std::filesystem::path& file);

/// Sets the lines about the program in a report; they replace those set before, and are cut at 8 KiB. Called by one
/// thread at a time.
void note_for_crash(std::string_view lines);

/// The report that an earlier start has left, which is named crash-before.txt from now on. Nullopt:
/// there is none. Never throws.
std::optional<std::filesystem::path> take_crash_report(const std::filesystem::path& file) noexcept;

}  // namespace headlight::platform
