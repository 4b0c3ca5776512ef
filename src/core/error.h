#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace headlight {

/// What the caller can't repair, told to a person in one line: what is wrong, where, and what to do about it.
/// Caught in two places only: main() and the engine's job runner.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}

  template <typename... Args>
  requires(sizeof...(Args) > 0) explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace headlight
