#pragma once

#include <string>
#include <utility>
#include <variant>

namespace headlight {

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

}  // namespace headlight
