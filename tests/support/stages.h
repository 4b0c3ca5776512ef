#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "attention/stage.h"
#include "support/deviation.h"
#include "support/running_session.h"
#include "tools/reference/reference_run.h"

namespace headlight::test {

inline constexpr std::array<attention::Stage, attention::kStages> kAllStages = [] {
  std::array<attention::Stage, attention::kStages> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<attention::Stage>(i);
  return all;
}();

/// A stage as the reference computed it; empty where the block has none.
inline const model::reference::Array& stage_of(const model::reference::AttentionStages& stages, attention::Stage stage) {
  switch (stage) {
    case attention::Stage::X:
      return stages.x;
    case attention::Stage::Q:
      return stages.q;
    case attention::Stage::K:
      return stages.k;
    case attention::Stage::V:
      return stages.v;
    case attention::Stage::Scores:
      return stages.scores;
    case attention::Stage::ContentPosition:
      return stages.content_position;
    case attention::Stage::PositionContent:
      return stages.position_content;
    case attention::Stage::Scaled:
      return stages.scaled;
    case attention::Stage::Masked:
      return stages.masked;
    case attention::Stage::Weights:
      return stages.weights;
    case attention::Stage::Heads:
      return stages.heads;
    case attention::Stage::Merged:
      return stages.merged;
    case attention::Stage::Output:
      return stages.output;
    case attention::Stage::Residual:
      return stages.residual;
    case attention::Stage::AttentionSum:
      return stages.attention_sum;
    case attention::Stage::Attended:
      return stages.attended;
    case attention::Stage::FfnInput:
      return stages.ffn_input;
    case attention::Stage::FfnRouter:
      return stages.router;
    case attention::Stage::FfnGates:
      return stages.gates;
    case attention::Stage::FfnGate:
      return stages.ffn_gate;
    case attention::Stage::FfnHidden:
      return stages.ffn_hidden;
    case attention::Stage::FfnActive:
      return stages.ffn_active;
    case attention::Stage::FfnOutput:
      return stages.ffn_output;
    case attention::Stage::FfnSum:
      return stages.ffn_sum;
    case attention::Stage::Next:
      break;
  }
  return stages.next;
}

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
      const model::reference::Array& array = stage_of(expected.stages[i], stage);
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
