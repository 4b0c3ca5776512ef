#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "model/network.h"

namespace headlight::app {

/// How many changed passes of one text are computed together (Session::run_copies): the number that is the fastest on this
/// device, found by measuring while they are needed. One pass alone comes first; twice as many are tried as long as a pass
/// gets clearly faster by it. A keystroke waits until the passes under way are done, so that together they may take 50 ms.
class CopyCount {
 public:
  /// What the times depend on.
  struct Of {
    const model::Layers* layers = nullptr;
    std::uint32_t tokens = 0;

    bool operator==(const Of&) const = default;
  };
  /// Of another network, or of a text of another size, nothing is known yet.
  void begin(const Of& of);
  /// `most` at most.
  std::size_t next(std::size_t most) const;
  /// So many passes together took so long, in which so many layers were computed.
  void measured(std::size_t passes, double milliseconds, std::size_t layers);
  /// No more than these, from now on: there is no memory for more, or they can't be one pass.
  void limit(std::size_t passes) { limit_ = passes; }

 private:
  /// The shortest times that were measured.
  struct Time {
    double of_pass_and_layer = 0.0, all = 0.0;  ///< ms
  };

  Of of_;
  std::size_t limit_ = kMax;
  std::map<std::size_t, Time> times_;  ///< by number of passes

  static constexpr std::size_t kMax = 32;
};

}  // namespace headlight::app
