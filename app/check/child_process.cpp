#include "app/check/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"

namespace headlight::app {
namespace {

/// `headlight` beside the running program, which is another one in tests; else the running one.
std::filesystem::path own_program() {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::filesystem::path beside = self.parent_path() / "headlight";
  return std::filesystem::exists(beside, failure) ? beside : self;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::string& variable) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error("no pipe to a program of its own: {}", std::strerror(errno));
  output_ = Descriptor(ends[0]);
  const Descriptor input(ends[1]);
  std::vector<std::string> words{own_program().string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv, environment{const_cast<char*>(variable.c_str())};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, input.number(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const int failure = posix_spawn(&child_, argv.front(), &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error("the program can't be started a second time: {}", std::strerror(failure));
}

ChildProcess::~ChildProcess() {
  kill();
  end();
}

std::optional<std::string> ChildProcess::read_line(std::chrono::milliseconds patience) {
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
    const std::size_t count = read_some(output_.number(), room.data(), room.size(), "the output of a check");
    has_ended_ = count == 0;
    text_.append(room.data(), count);
  }
}

std::string ChildProcess::end() {
  if (child_ < 0) return {};
  // One that waits for a broken driver can't even be killed: it is left alone.
  int status = 0;
  pid_t ended = 0;
  for (int moment = 0; moment < 100 && ended == 0; ++moment) {
    ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(moment < 10 ? 2 : 50));
  }
  if (ended <= 0) return "work that can't be ended";
  child_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? std::string() : fmt::format("exit status {}", WEXITSTATUS(status));
}

void ChildProcess::kill() {
  if (child_ >= 0) ::kill(child_, SIGKILL);
}

}  // namespace headlight::app
