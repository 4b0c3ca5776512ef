#pragma once

#include <string_view>

namespace headlight::kernel_report {

/// Instructions of a loop, by what they do.
struct InstructionMix {
  int all = 0;            ///< issued: a pair of operations in one instruction counts once
  int multiply_adds = 0;  ///< of float32
  int shared_memory = 0;  ///< loads and stores of it

  /// Per cent of what is issued: a bound from above of what a GPU can reach of its peak.
  double multiply_add_percent() const { return all > 0 ? 100.0 * multiply_adds / all : 0.0; }
  double shared_per_multiply_add() const {
    return multiply_adds > 0 ? static_cast<double>(shared_memory) / multiply_adds : 0.0;
  }
};

/// The innermost loop with the most multiply-adds in AMD's assembly as Mesa's compiler prints it: blocks begin with a line
/// "BB7:", a branch backward closes a loop. Every block of it counts, also those that are skipped most of the time. All zero
/// where there is no loop.
InstructionMix inner_loop(std::string_view assembly);

}  // namespace headlight::kernel_report
