#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string>

#include "platform/linux/last_error.h"
#include "platform/signals.h"

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

namespace {

// Made before a fault: its handler may neither allocate nor lock.
std::string report_path, crash_line;
std::array<std::string, 3> report_folders;  // outermost first: ~/.local, too, may be missing
std::array<char, std::size_t{8} << 10> crash_note;
std::atomic<std::size_t> crash_note_size = 0;
std::array<char, std::size_t{64} << 10> handler_stack;  // where the fault is a stack without room

void put_text(int file, std::string_view text) {
  [[maybe_unused]] const auto written = ::write(file, text.data(), text.size());
}

/// The signal's disposition is the default one by now, which ends the program.
extern "C" void on_fault(int signal) {
  for (const std::string& folder : report_folders) ::mkdir(folder.c_str(), 0700);
  const int file = ::open(report_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0) {
    put_text(file, "Headlight ended by the signal ");
    put_text(file, ::sigabbrev_np(signal));
    put_text(file, ". This report stays on this computer: send it to those who should read it.\n\n");
    put_text(file, {crash_note.data(), crash_note_size.load()});
    put_text(file, "\nStack, as program(+offset): addr2line -e program offset names the line.\n");
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())), file);
    ::close(file);
    put_text(STDERR_FILENO, crash_line);
  }
  ::raise(signal);
}

}  // namespace

void keep_crash_reports(const std::filesystem::path& file) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // which reports faults itself
#endif
  report_path = file.native();
  std::filesystem::path folder = file;
  for (auto outer = report_folders.rbegin(); outer != report_folders.rend(); ++outer) {
    folder = folder.parent_path();
    *outer = folder.native();
  }
  crash_line = "headlight: ended by a fault; " + report_path + " says what was on screen\n";
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs, which allocates
  const stack_t stack{.ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = handler_stack.size()};
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = on_fault;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

void note_for_crash(std::string_view lines) {
  crash_note_size = 0;
  std::memcpy(crash_note.data(), lines.data(), std::min(lines.size(), crash_note.size()));
  crash_note_size = std::min(lines.size(), crash_note.size());
}

std::optional<std::filesystem::path> take_crash_report(const std::filesystem::path& file) noexcept {
  std::error_code failure;
  std::filesystem::path kept = file.parent_path() / "crash-before.txt";
  std::filesystem::rename(file, kept, failure);
  return failure ? std::nullopt : std::optional(std::move(kept));
}

}  // namespace headlight::platform
