#include "app/commands/compile_note.h"

#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace headlight::app {

std::string CompileNote::text(std::size_t done, std::size_t total, std::chrono::duration<double> elapsed) {
  constexpr std::chrono::seconds kLong{1};
  if (done < total) {
    if (elapsed < kLong) return {};
    is_drawn_ = true;
    return fmt::format("\rcompiling kernels {} of {}\u2026\033[K", done, total);
  }
  return std::exchange(is_drawn_, false) ? "\r\033[K" : "";
}

void CompileNote::operator()(std::size_t done, std::size_t total) {
  static const bool is_terminal = isatty(STDERR_FILENO) == 1;
  if (!is_terminal) return;
  const auto now = std::chrono::steady_clock::now();
  if (done == 0) start_ = now;
  std::cerr << text(done, total, now - start_) << std::flush;
}

}  // namespace headlight::app
