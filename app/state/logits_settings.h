#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The view's position is the predictions', its head the selected one. Ids that the model doesn't have count as none.
struct LogitsSettings : SettingGroup {
  LogitsSettings() : SettingGroup{.name = "logits", .view = "logits"} {}

  /// Id of the next token whose logit is explained; none: the likeliest.
  Setting<std::optional<std::uint32_t>> token{*this, {.key = "token", .undo = "Choose explained token", .most = kMostIndex}};
  /// The logit's difference from this token's; none: the logit itself.
  Setting<std::optional<std::uint32_t>> other{*this, {.key = "other", .undo = "Choose second token", .most = kMostIndex}};
  Setting<bool> sums_heads{
      *this,
      {.key = "sums_heads",
       .undo = "Choose heads of source tokens",
       .options = {{"on", "all heads", "What all heads together bring from each token."},
                   {"off", "the selected head", "What the selected head alone brings from each token."}},
       .is_look = true},
      true};
};
inline const LogitsSettings kLogitsView;

}  // namespace headlight::app
