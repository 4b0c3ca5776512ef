#include "platform/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <thread>

#include "platform/linux/last_error.h"

namespace headlight::platform {

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
