#pragma once

#include <algorithm>

#include "app/frame.h"

namespace headlight::app {

/// Left and Right change a slider's or a drag field's value, when it was marked as the last item and has the keyboard. Enter
/// opens its field where it `is_typed`. Returns whether the value changed.
template <typename Number>
bool step_by_keys(Frame& frame, Number& value, Number low, Number high, Number step, bool is_typed = true) {
  const int steps = frame.ui.keyboard().steps_of_last(is_typed);
  if (steps == 0) return false;
  const double wanted = static_cast<double>(value) + steps * static_cast<double>(step);
  const Number before = value;
  value = static_cast<Number>(std::clamp(wanted, static_cast<double>(low), static_cast<double>(high)));
  return value != before;
}

}  // namespace headlight::app
