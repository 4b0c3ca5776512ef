#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The side-by-side view shows beside the selected head another head of the same kind of attention, in this run; the
/// same head in the baseline; or the mean of the heads of its layer.
enum class SideMap : std::uint8_t { OtherHead, Baseline, LayerMean };

struct SideBySideSettings : SettingGroup {
  SideBySideSettings() : SettingGroup{.name = "side_by_side", .view = "side_by_side", .is_look = true} {}

  Setting<SideMap> right{*this,
                         {.key = "right",
                          .undo = "Choose what is beside the head",
                          .options = {{"head", "another head", "Another head of this run, of the same kind of attention."},
                                      {"baseline", "the baseline", "The same head in the baseline (Ctrl+D keeps one)."},
                                      {"layer-mean", "the layer\u2019s mean", "The mean of all heads of its layer."}}}};
  /// The other head; else it is the one that attends least like the selected one.
  Setting<bool> is_chosen{*this, {.key = "is_chosen", .undo = "Choose the other head"}};
  /// The other head's; beyond the last one the last one is shown.
  Setting<std::uint32_t> layer{*this,
                               {.key = "layer", .undo = "Choose the other head", .most = kMostIndex, .is_continuous = true}};
  Setting<std::uint32_t> head{
      *this, {.key = "head", .undo = "Choose the other head", .most = kMostIndex, .is_continuous = true}, 1};
};
inline const SideBySideSettings kSideBySideView;

}  // namespace headlight::app
