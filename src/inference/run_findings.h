#pragma once

#include <cstdint>
#include <string>

#include "model/config.h"

namespace headlight::inference {

/// What of a pass isn't a number, although its weights may all be finite: scores that overflow float32, and what follows
/// from them.
struct RunFindings {
  /// Softmax rows whose (m, l) aren't finite, because a score is NaN or +∞ or all visible ones are −∞. Rows that the mask
  /// hides whole aren't among them.
  std::uint64_t rows = 0;
  std::uint64_t all_rows = 0;
  model::BlockRef first_block = {};  ///< in the order of computation, with such a row
  std::uint64_t last_state = 0;      ///< numbers of the state after the last layer that are NaN or infinite

  bool are_numbers() const { return rows == 0 && last_state == 0; }
};

/// One line: how many, where, and what to look at. "" where all are numbers.
std::string run_warning(const RunFindings& findings);

/// Keeps the line of a run that a command computes, for its exit status; "" is nothing. Any thread.
void note_run_warning(const std::string& warning);
/// The first line that was kept; "" where there is none.
std::string noted_run_warning();
/// For a process whose results another one reports.
void forget_run_warning();

}  // namespace headlight::inference
