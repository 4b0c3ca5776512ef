#pragma once

#include <memory>
#include <utility>

namespace headlight {

/// An optional value that copies share: copying costs a pointer, however large the value is. It is never changed in place,
/// so any number of threads may hold copies; a change assigns a new value and leaves the other copies as they are.
template <typename T>
class SharedValue {
 public:
  SharedValue() = default;
  SharedValue(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: assigned like a T

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  /// Only where there is a value.
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  /// Null without a value.
  const T* get() const { return value_.get(); }
  void reset() { value_.reset(); }

  /// Copies of one value are equal without comparing it.
  bool operator==(const SharedValue& other) const {
    if (value_ == other.value_) return true;
    return value_ && other.value_ && *value_ == *other.value_;
  }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace headlight
