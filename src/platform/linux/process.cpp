#include "platform/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

#include "platform/display.h"
#include "platform/file.h"

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

}  // namespace headlight::platform
