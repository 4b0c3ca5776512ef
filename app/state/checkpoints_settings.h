#pragma once

#include "app/state/metric_options.h"

namespace headlight::app {

/// The view of checkpoints draws curves over the steps of a training.
struct CheckpointsSettings : SettingGroup {
  CheckpointsSettings() : SettingGroup{.name = "checkpoints", .view = "checkpoints"} {}

  /// Each head has a curve of it.
  Setting<evaluation::HeadMetric> metric{
      *this,
      {.key = "metric",
       .undo = "Choose curves",
       .options = metric_options(),
       .is_look = true,
       .flag = "--curves",
       .flag_help = "the view Checkpoints: the metric of every head that is drawn over the steps"},
      evaluation::HeadMetric::Induction};
  Setting<bool> log_axis{
      *this,
      {.key = "log_axis",
       .undo = "Choose the axis of steps",
       .options = {{"off", "Linear", "Equal steps are equally far apart."},
                   {"on", "Log",
                    "Equal ratios of steps are equally far apart; step 0 is half a decade before the first one."}},
       .is_look = true,
       .flag = "--log-steps",
       .flag_help = "the view Checkpoints: a log axis of steps (default on)"},
      true};
};
inline const CheckpointsSettings kCheckpointsView;

}  // namespace headlight::app
