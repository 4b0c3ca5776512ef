#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace headlight::app {

/// Makes SIGTERM, SIGINT and SIGHUP end the window in order, so that nothing of it is left in folders that are in memory:
/// the loop is woken and sees that it is asked to end. A second signal ends the process at once. Signals that the parent had
/// ignored stay so. One object at a time.
class EndSignals {
 public:
  /// `wake` is called from a thread of this object's. Throws Error where the system has no event left.
  explicit EndSignals(std::function<void()> wake);
  /// Puts back what signals did before.
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  bool is_asked() const { return is_asked_; }
  /// Ends the process by the signal that asked for it, as its parent expects; nothing where none did.
  void pass_on() const;

 private:
  std::function<void()> wake_;
  std::atomic<bool> is_asked_ = false;
  std::thread thread_;
};

}  // namespace headlight::app
