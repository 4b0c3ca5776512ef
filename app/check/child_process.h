#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"

namespace headlight::app {

/// This program once more, with other arguments: its standard output is read line by line, its standard error is dropped.
/// One that still runs is killed when this goes.
class ChildProcess {
 public:
  /// `variable`: "NAME=VALUE", in the child's environment besides the parent's. Throws Error where it can't be started.
  ChildProcess(const std::vector<std::string>& arguments, const std::string& variable);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line without its end, waiting for so long at most; nullopt: there was none, or its output has ended.
  std::optional<std::string> read_line(std::chrono::milliseconds patience);
  bool has_ended() const { return has_ended_; }

  /// Waits for the child's end, after its output has ended, and says how it was: "signal 11 (Segmentation fault)", "exit
  /// status 1"; empty: status 0.
  std::string end();
  void kill();

 private:
  int child_ = -1;  ///< −1: none runs
  Descriptor output_{-1};
  std::string text_;
  bool has_ended_ = false;
};

}  // namespace headlight::app
