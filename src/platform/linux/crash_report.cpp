#include "platform/crash_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string>

namespace headlight::platform {
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
