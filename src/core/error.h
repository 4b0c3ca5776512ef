#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>

#include <fmt/format.h>

#include "core/utf8.h"

namespace headlight {

/// The kinds of errors that a caller may handle in different ways.
enum class ErrorKind : std::uint8_t {
  Other,
  InvalidInput,       ///< a file, a flag or a text that the user can correct
  Unsupported,        ///< valid input that this program or this device can't handle
  OutOfDeviceMemory,  ///< of the device or of its driver: less work at once may succeed
  DeviceLost,         ///< the device and all its memory are lost: a new context may work
  NoDevice,           ///< there is no Vulkan loader, driver or device that can be used
  Cancelled,          ///< the caller asked for it
  TooFewPositions,    ///< a text is longer than the model's table of positions, which can be stretched
  NoToken,            ///< a line is no text: it has no token of its own
};

/// An error that is reported to the user in one line: what is wrong, where, and what to do about it.
/// Messages quote names and values of files, so what() is made printable (one_line()).
/// Caught only by main() and the engine's job runner.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(one_line(message)) {}
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(one_line(message)), kind_(kind) {}

  template <typename... Args>
  requires(sizeof...(Args) > 0) explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(one_line(fmt::format(format, std::forward<Args>(args)...))) {}

  template <typename... Args>
  requires(sizeof...(Args) > 0) Error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(one_line(fmt::format(format, std::forward<Args>(args)...))), kind_(kind) {}

  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_ = ErrorKind::Other;
};

/// The kind of any exception; Other for those that aren't an Error.
inline ErrorKind kind_of(const std::exception& exception) {
  const auto* error = dynamic_cast<const Error*>(&exception);
  return error == nullptr ? ErrorKind::Other : error->kind();
}

}  // namespace headlight
