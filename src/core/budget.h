#pragma once

#include <string>

#include "core/error.h"

namespace headlight {

/// The cost that one foreign file or program may have, spent for reading as well as for the results: bytes, and so many
/// of them for each step and each node. It is the same on every machine. Tensors aren't counted.
class Budget {
 public:
  static constexpr std::size_t kStep = 32;   ///< of a program: some 100 ns
  static constexpr std::size_t kNode = 128;  ///< of a parsed tree: its memory

  /// `refusal`: what the Error says that spend() throws.
  Budget(std::size_t bytes, std::string refusal) : bytes_(bytes), refusal_(std::move(refusal)) {}

  /// Throws Error once all is spent, and from then on for anything more.
  void spend(std::size_t bytes) {
    if (bytes > bytes_) bytes_ = 0;
    if (bytes > bytes_) throw Error("{}", refusal_);
    bytes_ -= bytes;
  }

 private:
  std::size_t bytes_;
  std::string refusal_;
};

}  // namespace headlight
