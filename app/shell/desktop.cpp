#include "app/shell/desktop.h"

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/error.h"

namespace headlight::shell {
namespace {

/// Starts a program of PATH that reads the file from its standard input, without output. nullopt: there is no such program.
std::optional<pid_t> start(const std::vector<std::string>& command, const std::string& input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> copy = command;
  std::vector<char*> arguments;
  for (std::string& argument : copy) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure == 0 ? std::optional(child) : std::nullopt;
}

/// The exit status of a child, when it has ended.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

void show_folder(const std::filesystem::path& folder) {
  const std::optional<pid_t> child = start({"xdg-open", folder.string()}, "/dev/null");
  if (!child) throw Error("there is no xdg-open to show {} with; install xdg-utils", folder.string());
  std::thread([child] { wait_for(*child); }).detach();  // some file managers only end with their window
}

void copy_image(const std::filesystem::path& png) {
  const bool has_wayland = is_set("WAYLAND_DISPLAY");
  if (!has_wayland && !is_set("DISPLAY")) throw Error("without a display there is no clipboard");
  std::optional<pid_t> child;
  if (has_wayland) child = start({"wl-copy", "--type", "image/png"}, png.string());
  if (!child) child = start({"xclip", "-selection", "clipboard", "-t", "image/png", "-i"}, png.string());
  if (!child) {
    throw Error("copying an image needs {}; install it, or export the figure",
                has_wayland ? "wl-copy (Debian: wl-clipboard)" : "xclip");
  }
  if (wait_for(*child) != 0) throw Error("the clipboard didn't take the image; export the figure instead");
}

}  // namespace headlight::shell
