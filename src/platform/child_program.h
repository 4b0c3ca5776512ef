#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "platform/file.h"

namespace headlight::platform {

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
