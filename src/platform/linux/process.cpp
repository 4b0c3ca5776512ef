#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "platform/display.h"
#include "platform/file.h"
#include "platform/linux/last_error.h"
#include "platform/process.h"

namespace headlight::platform {

std::uint32_t process_id() { return static_cast<std::uint32_t>(::getpid()); }

std::uint32_t user_id() { return ::geteuid(); }

std::string host_name() {
  std::array<char, 128> host = {};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

std::string system_release() {
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    std::error_code error;
    const Descriptor file = open_to_read(path, error);
    std::string text(std::size_t{64} << 10, '\0');
    if (!error) text.resize(read_at(file.number(), text.data(), text.size(), 0, error));
    if (!error) return text;
  }
  return {};
}

std::string user_language() {
  for (const char* variable : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

void set_variable(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

std::optional<Child> start_program(const std::vector<std::string>& command, const std::filesystem::path& input) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, input.empty() ? "/dev/null" : input.c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> copy = command;
  std::vector<char*> arguments;
  for (std::string& argument : copy) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failure = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return failure == 0 ? std::optional(Child{child}) : std::nullopt;
}

int wait_for(Child child) {
  int status = 0;
  while (::waitpid(static_cast<pid_t>(child.id), &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string show_folder(const std::filesystem::path& folder) {
  const std::optional<Child> child = start_program({"xdg-open", folder.native()});
  if (!child) return "there is no xdg-open to show " + folder.native() + " with; install xdg-utils";
  std::thread([child] { wait_for(*child); }).detach();  // some file managers only end with their window
  return {};
}

/// wl-copy and xclip go on until something else is copied.
std::string copy_image(const std::filesystem::path& png) {
  if (!has_display()) return "without a display there is no clipboard";
  std::optional<Child> child;
  if (has_wayland()) child = start_program({"wl-copy", "--type", "image/png"}, png);
  if (!child) child = start_program({"xclip", "-selection", "clipboard", "-t", "image/png", "-i"}, png);
  if (!child) {
    return std::string("copying an image needs ") + (has_wayland() ? "wl-copy (Debian: wl-clipboard)" : "xclip") +
           "; install it, or export the figure";
  }
  return wait_for(*child) == 0 ? "" : "the clipboard didn't take the image; export the figure instead";
}

ChildProgram::ChildProgram(std::vector<std::string> command, const std::string& variable, std::error_code& error) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    error = last_error();
    return;
  }
  output_ = Descriptor(ends[0]);
  const Descriptor input(ends[1]);
  std::vector<char*> arguments, environment{const_cast<char*>(variable.c_str())};
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, input.number(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, arguments.front(), &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  child_ = failure == 0 ? child : -1;
  if (failure != 0) error = {failure, std::system_category()};
}

ChildProgram::~ChildProgram() {
  kill();
  end();
}

std::optional<std::string> ChildProgram::read_line(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (const std::size_t at = text_.find('\n'); at != std::string::npos) {
      std::string line = text_.substr(0, at);
      text_.erase(0, at + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd wanted{.fd = output_.number(), .events = POLLIN, .revents = 0};
    if (has_ended_ || left.count() <= 0 || ::poll(&wanted, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    std::array<char, 4096> room{};
    std::error_code error;
    const std::size_t count = read_some(output_.number(), room.data(), room.size(), error);
    has_ended_ = count == 0;
    text_.append(room.data(), count);
  }
}

std::string ChildProgram::end() {
  if (child_ < 0) return {};
  // One that waits for a broken driver can't even be killed: it is left alone.
  int status = 0;
  pid_t ended = 0;
  for (int moment = 0; moment < 100 && ended == 0; ++moment) {
    ended = ::waitpid(static_cast<pid_t>(child_), &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(moment < 10 ? 2 : 50));
  }
  if (ended <= 0) return "work that can't be ended";
  child_ = -1;
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS}) {
    was_fault_ = was_fault_ || (WIFSIGNALED(status) && WTERMSIG(status) == fault);
  }
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  return WEXITSTATUS(status) == 0 ? std::string() : "exit status " + std::to_string(WEXITSTATUS(status));
}

void ChildProgram::ask_to_end() {
  if (child_ >= 0) ::kill(static_cast<pid_t>(child_), SIGTERM);
}

void ChildProgram::kill() {
  if (child_ >= 0) ::kill(static_cast<pid_t>(child_), SIGKILL);
}

}  // namespace headlight::platform
