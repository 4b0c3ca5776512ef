#pragma once

#include <algorithm>
#include <limits>
#include <utility>

namespace headlight::app {

/// Decides when to save a value that changes often: once it has been quiet for a moment, and every 10 s while it keeps
/// changing.
template <typename Value>
class QuietChange {
 public:
  explicit QuietChange(Value saved) : saved_(std::move(saved)), seen_(saved_) {}

  /// Returns the seconds from `now_s` (any steady clock) until `value` is to be saved; 0: now; infinity: it is.
  double wait_s(const Value& value, double now_s) {
    see(value, now_s);
    if (seen_ == saved_) return std::numeric_limits<double>::infinity();
    return std::max(std::min(changed_at_s_ + kQuiet_s, unsaved_since_s_ + kMaxUnsaved_s) - now_s, 0.0);
  }
  void see(const Value& value, double now_s) {
    if (value == seen_) return;
    if (seen_ == saved_) unsaved_since_s_ = now_s;
    seen_ = value;
    changed_at_s_ = now_s;
  }
  const Value& seen() const { return seen_; }
  /// Notes that `value` is saved, or that another attempt is not to be made.
  void settle(const Value& value) { saved_ = seen_ = value; }

 private:
  static constexpr double kQuiet_s = 2.0, kMaxUnsaved_s = 10.0;

  Value saved_, seen_;
  double changed_at_s_ = 0.0;
  double unsaved_since_s_ = 0.0;  ///< while seen_ isn't saved_
};

}  // namespace headlight::app
