#include "app/window/end_signals.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::array kEndingSignals = {SIGTERM, SIGINT, SIGHUP};

// A signal's handler has no other way to say something.
volatile std::sig_atomic_t ending_signal = 0;  // that came; 0: none
volatile std::sig_atomic_t ending_event = -1;  // descriptor of the eventfd that the object's thread waits for
std::array<void (*)(int), kEndingSignals.size()> handlers_before = {};

void tell_thread() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(ending_event, &one, sizeof(one)));  // an eventfd near 0 takes it
}

/// Only what a signal's handler may call.
extern "C" void ask_to_end(int number) {
  const int error_before = errno;
  ending_signal = number;
  for (const int ending : kEndingSignals) std::signal(ending, SIG_DFL);
  tell_thread();
  errno = error_before;
}

}  // namespace

EndSignals::EndSignals(std::function<void()> wake) : wake_(std::move(wake)) {
  ending_signal = 0;
  ending_event = ::eventfd(0, EFD_CLOEXEC);
  if (ending_event < 0) throw Error("no event for signals: {}", std::strerror(errno));
  thread_ = std::thread([this] {
    std::uint64_t count = 0;
    while (::read(ending_event, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    if (ending_signal == 0) return;  // the object ends
    is_asked_ = true;
    wake_();
  });
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i) {
    handlers_before[i] = std::signal(kEndingSignals[i], ask_to_end);
    if (handlers_before[i] == SIG_IGN) std::signal(kEndingSignals[i], SIG_IGN);
  }
}

EndSignals::~EndSignals() {
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i) std::signal(kEndingSignals[i], handlers_before[i]);
  tell_thread();
  thread_.join();
  ::close(ending_event);
  ending_event = -1;
}

void EndSignals::pass_on() const {
  if (ending_signal == 0) return;
  std::signal(ending_signal, SIG_DFL);
  static_cast<void>(std::raise(ending_signal));
}

}  // namespace headlight::app
