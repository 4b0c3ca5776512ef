#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

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

/// Why a request of the user failed, in one printable line.
struct Failure {
  std::string message;
};

/// A value or the reason there is none, like std::expected, which C++20 lacks.
template <typename T>
class Result {
 public:
  Result(T value) : content_(std::move(value)) {}            // NOLINT: implicit, as in std::expected
  Result(Failure failure) : content_(std::move(failure)) {}  // NOLINT

  bool has_value() const { return std::holds_alternative<T>(content_); }
  explicit operator bool() const { return has_value(); }

  const T& value() const& { return std::get<T>(content_); }
  T&& value() && { return std::get<T>(std::move(content_)); }
  const T& operator*() const { return value(); }
  const T* operator->() const { return &value(); }

  /// Only valid when there is no value.
  const std::string& error() const { return std::get<Failure>(content_).message; }

 private:
  std::variant<T, Failure> content_;
};

/// Returns the line that a user reads about an exception: an Error's own; where the system refuses memory or threads,
/// what to do.
std::string line_of(const std::exception& exception);

}  // namespace headlight
