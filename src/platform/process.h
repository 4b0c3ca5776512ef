#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "platform/file.h"

namespace headlight::platform {

std::uint32_t process_id();
/// Returns the number of the user whose rights this process has.
std::uint32_t user_id();
/// The computer's name in its network; empty where the system doesn't say.
std::string host_name();
/// Returns the system's description of itself, as lines KEY=value (os-release, freedesktop.org); empty where it has
/// none.
std::string system_release();
/// The language of the user's choice, as "de_DE.UTF-8"; empty: none.
std::string user_language();
/// Sets a variable of this process and of those that it starts. Not while another thread may read variables.
void set_variable(const char* name, const std::string& value);

/// A program that this one started.
struct Child {
  std::intptr_t id = 0;
};
/// Starts a program of PATH, without output. It reads the file `input`, or nothing where that is empty. None: there is no
/// such program.
std::optional<Child> start_program(const std::vector<std::string>& command, const std::filesystem::path& input = {});
/// Waits until it has ended. Its exit status; −1 where a signal ended it.
int wait_for(Child child);

/// Shows a folder in the desktop's file manager. Returns why not, in one line; empty: it is shown.
std::string show_folder(const std::filesystem::path& folder);
/// Puts a PNG on the clipboard, where it stays after this program has ended; waits until the file is read. Returns why not,
/// and what to install, in one line; empty: it is there.
std::string copy_image(const std::filesystem::path& png);

/// A program that this one started and listens to: its standard output is read line by line, its standard error is dropped.
/// One that still runs is killed when this goes.
class ChildProgram {
 public:
  /// `command`: the program's path, then its arguments. `variable`: "NAME=VALUE", in its environment besides this process's
  /// own. `error`: it can't be started.
  ChildProgram(std::vector<std::string> command, const std::string& variable, std::error_code& error);
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// The next line without its end, waiting for so long at most; none: there was none, or its output has ended.
  std::optional<std::string> read_line(std::chrono::milliseconds patience);
  bool has_ended() const { return has_ended_; }

  /// Waits for the child's end, after its output has ended, and says how it was: "signal 11 (Segmentation fault)", "exit
  /// status 1"; empty: status 0.
  std::string end();
  /// Has end() seen a signal of a fault of its own? SIGTERM and SIGKILL, as where memory ran out, come from outside.
  bool was_fault() const { return was_fault_; }
  void kill();
  /// Asks the child to end, as a user's Ctrl-C does: it may put things in order first.
  void ask_to_end();

 private:
  std::intptr_t child_ = -1;  ///< −1: none runs
  Descriptor output_;
  std::string text_;
  bool has_ended_ = false, was_fault_ = false;
};

}  // namespace headlight::platform
