#include "platform/signals.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <mutex>

#include "platform/linux/last_error.h"

namespace headlight::platform {
namespace {

constexpr std::array kEndingSignals = {SIGTERM, SIGINT, SIGHUP};
constexpr std::array kLastSignals = {SIGTERM, SIGINT};
using Handler = void (*)(int);

// A signal's handler has no other way to say something.
volatile std::sig_atomic_t ending_signal = 0;  // that came; 0: none
std::atomic<const Event*> ending_event = nullptr;
std::array<Handler, kEndingSignals.size()> handlers_before = {};
std::array<Handler, kLastSignals.size()> last_handlers_before = {};
std::mutex last_words_mutex;
std::size_t last_words_in_use = 0;

/// Only what a signal's handler may call.
extern "C" void ask_to_end(int number) {
  const int error_before = errno;
  ending_signal = number;
  for (const int ending : kEndingSignals) std::signal(ending, SIG_DFL);
  ending_event.load()->set();
  errno = error_before;
}

}  // namespace

EndSignals::EndSignals(std::function<void()> wake, std::error_code& error) : wake_(std::move(wake)), event_(error) {
  if (error) return;
  ending_signal = 0;
  ending_event = &event_;
  thread_ = std::thread([this] {
    event_.wait();
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
  if (!thread_.joinable()) return;
  for (std::size_t i = 0; i < kEndingSignals.size(); ++i) std::signal(kEndingSignals[i], handlers_before[i]);
  event_.set();
  thread_.join();
}

void EndSignals::pass_on() const {
  if (ending_signal == 0) return;
  std::signal(ending_signal, SIG_DFL);
  static_cast<void>(std::raise(ending_signal));
}

struct LastWords::Slot {
  volatile std::sig_atomic_t descriptor = -1;  ///< −1: free
  std::array<char, 400> words = {};
  std::size_t bytes = 0;
  bool appends = false;

  static std::array<Slot, kMax> all;
  static void write_and_end(int number);
};
std::array<LastWords::Slot, LastWords::kMax> LastWords::Slot::all;

/// Only what a signal's handler may call.
void LastWords::Slot::write_and_end(int number) {
  for (const Slot& slot : all) {
    if (slot.descriptor < 0) continue;
    // A terminal and a pipe have no beginning.
    if (!slot.appends && (::pwrite(slot.descriptor, slot.words.data(), slot.bytes, 0) >= 0 || errno != ESPIPE)) continue;
    static_cast<void>(!::write(slot.descriptor, slot.words.data(), slot.bytes));
  }
  std::signal(number, SIG_DFL);
  static_cast<void>(std::raise(number));
}

LastWords::LastWords(int descriptor, std::string_view words, bool appends) {
  const std::scoped_lock lock(last_words_mutex);
  const auto free = std::ranges::find_if(Slot::all, [](const Slot& slot) { return slot.descriptor < 0; });
  if (free == Slot::all.end()) return;
  slot_ = &*free;
  slot_->appends = appends;
  slot_->bytes = words.copy(slot_->words.data(), slot_->words.size());
  slot_->descriptor = descriptor;
  if (last_words_in_use++ > 0) return;
  for (std::size_t i = 0; i < kLastSignals.size(); ++i) {
    last_handlers_before[i] = std::signal(kLastSignals[i], Slot::write_and_end);
  }
}

LastWords::~LastWords() {
  if (slot_ == nullptr) return;
  const std::scoped_lock lock(last_words_mutex);
  slot_->descriptor = -1;
  if (--last_words_in_use > 0) return;
  for (std::size_t i = 0; i < kLastSignals.size(); ++i) std::signal(kLastSignals[i], last_handlers_before[i]);
}

}  // namespace headlight::platform
