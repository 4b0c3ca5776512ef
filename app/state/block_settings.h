#pragma once

#include "app/state/setting.h"

namespace headlight::app {

inline constexpr float kMinBlockSpeed = 0.25f, kMaxBlockSpeed = 4.0f;

/// The matrix that is unfolded is State::opened_matrix.
struct BlockSettings : SettingGroup {
  BlockSettings() : SettingGroup{.name = "block", .view = "block", .is_look = true} {}

  /// The largest numbers of the residual stream in place of the layer.
  Setting<bool> activations{*this,
                            {.key = "activations",
                             .undo = "Show largest activations",
                             .flag = "--activations",
                             .flag_help = "the view Block: the largest numbers of the residual stream, or the layer"}};
  /// The walk's steps, and on the map the rows of written tokens, change without movement.
  Setting<bool> reduces_motion{*this, {.key = "reduces_motion", .undo = "Switch motion"}};
  /// Of the walk and of the rows: how many times their usual speed.
  Setting<float> speed{
      *this,
      {.key = "speed", .undo = "Change speed", .least = kMinBlockSpeed, .most = kMaxBlockSpeed, .is_continuous = true},
      1.0f};
};
inline const BlockSettings kBlockView;

}  // namespace headlight::app
