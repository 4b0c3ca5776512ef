#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "attention/stage.h"
#include "inference/reference_run.h"
#include "support/deviation.h"
#include "support/running_session.h"

namespace headlight::test {

inline constexpr std::array<attention::Stage, attention::kStages> kAllStages = [] {
  std::array<attention::Stage, attention::kStages> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<attention::Stage>(i);
  return all;
}();

/// The largest difference of any stage of any block of the last run from the reference's; ∞ when one of them has a block, a
/// stage or a shape that the other lacks. `worst` names where it is.
inline double max_difference(RunningSession& session, const model::reference::Run& expected, std::string& worst) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double largest = 0.0;
  const auto note = [&](double difference, model::BlockRef block, std::string_view what) {
    if (difference <= largest && largest > 0.0) return;
    raise_to(largest, difference);
    worst = fmt::format("{} {} {}", to_string(block.kind), block.layer.value, what);
  };
  if (session.blocks() != expected.blocks) return kInfinity;
  for (std::size_t i = 0; i < expected.blocks.size(); ++i) {
    const model::BlockRef block = expected.blocks[i];
    for (const attention::Stage stage : kAllStages) {
      const model::reference::Array& array = expected.stages[i][stage];
      if (array.values.empty() != !session.shape(block).extent(stage)) return kInfinity;
      if (array.values.empty()) continue;
      const Tensor found = session.stage(block, stage);
      note(found.shape == array.shape ? deviation(found.values, array.values).max_abs : kInfinity, block, to_string(stage));
    }
  }
  if (!expected.encoder_output.values.empty()) {
    note(deviation(session.encoder_output().values, expected.encoder_output.values).max_abs, {}, "the encoder's output");
  }
  if (!expected.logits.values.empty())
    note(deviation(session.logits().values, expected.logits.values).max_abs, {}, "logits");
  return largest;
}

}  // namespace headlight::test
