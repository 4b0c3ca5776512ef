#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The what-if view shows how much knocking out each head changes the logit of a token (or its difference from
/// another token's), the token's probability, or the mean loss of the text.
enum class KnockoutMeasure : std::uint8_t { Logit, Probability, Loss };
/// A head's output becomes 0 in it; its mean over the tokens of the text, which keeps what the head gives
/// everywhere; or its mean over those of the baseline.
enum class Ablation : std::uint8_t { Zero, Mean, BaselineMean };

/// The view's tokens are the logits view's.
struct WhatIfSettings : SettingGroup {
  WhatIfSettings() : SettingGroup{.name = "what_if", .view = "what_if"} {}

  Setting<KnockoutMeasure> measure{
      *this,
      {.key = "measure",
       .undo = "Choose what a knock-out changes",
       .options = {{"logit", "logit", "The logit of a token, or its difference from another token's."},
                   {"probability", "probability", "The probability of a token, in percentage points."},
                   {"loss", "loss of the text", "The mean of what each token of the text costs the model, in nats."}}}};
  Setting<Ablation> ablation{
      *this,
      {.key = "ablation",
       .undo = "Choose how heads are knocked out",
       .options = {
           {"zero", "knocked out", "Each head gives nothing: its output is 0."},
           {"mean", "mean of the text", "Each head gives the same to every token: the mean of its output over the text."},
           {"baseline-mean", "mean of the baseline",
            "Each head gives the same to every token: the mean of its output over the baseline, which may be of another "
            "text."}}}};
  Setting<bool> is_sorted{
      *this,
      {.key = "is_sorted",
       .undo = "Sort heads",
       .options = {{"on", "largest first", "The head whose absence changes most comes first, in either direction."},
                   {"off", "by layer", "Layer by layer, head by head."}},
       .is_look = true},
      true};
};
inline const WhatIfSettings kWhatIfView;

}  // namespace headlight::app
