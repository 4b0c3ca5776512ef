#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The flow view traces back contributions (information-flow routes), attention rollout, or a maximum flow.
enum class FlowMethod : std::uint8_t { Routes, Rollout, MaximumFlow };

inline constexpr float kMinFlowThreshold = 0.001f, kMaxFlowThreshold = 0.5f;

/// The view's position is the predictions'.
struct FlowSettings : SettingGroup {
  FlowSettings() : SettingGroup{.name = "flow", .view = "flow"} {}

  Setting<FlowMethod> method{
      *this,
      {.key = "method",
       .undo = "Choose what flows",
       .options = {{"routes", "routes", "Information-flow routes: what each head's weighted values are of a state."},
                   {"rollout", "rollout", "Attention rollout: mean weights multiplied layer by layer."},
                   {"flow", "flow", "Attention flow: the largest flow to one token, with mean weights as capacities."}}}};
  /// Edges below are left out; none: automatic, as the graph has edges.
  Setting<std::optional<float>> threshold{*this,
                                          {.key = "threshold",
                                           .undo = "Change threshold",
                                           .least = kMinFlowThreshold,
                                           .most = kMaxFlowThreshold,
                                           .is_continuous = true,
                                           .is_look = true}};
  /// Rollout and maximum flow take this share of a layer for the residual stream's.
  Setting<float> residual_weight{
      *this, {.key = "residual_weight", .undo = "Change residual's weight", .most = 1.0, .is_continuous = true}, 0.5f};
};
inline const FlowSettings kFlowView;

}  // namespace headlight::app
