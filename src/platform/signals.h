#pragma once

#include <atomic>
#include <functional>
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

}  // namespace headlight::platform
