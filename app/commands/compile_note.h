#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace headlight::app {

/// Says on standard error that the driver compiles kernels, where that is a terminal and it takes longer than a second; gone
/// from there when they are compiled. An inference::CompileObserver.
class CompileNote {
 public:
  void operator()(std::size_t done, std::size_t total);

  /// What to write to a terminal for this many kernels: the line, drawn over the one before; nothing, or what removes it.
  std::string text(std::size_t done, std::size_t total, std::chrono::duration<double> elapsed);

 private:
  std::chrono::steady_clock::time_point start_;
  bool is_drawn_ = false;
};

}  // namespace headlight::app
