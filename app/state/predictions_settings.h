#pragma once

#include "app/state/setting.h"

namespace headlight::app {

/// The predictions view shows one position with its bars and layers; a table of all positions; or the lens grid, every
/// layer at every position.
enum class PredictionsPart : std::uint8_t { Position, Positions, Layers };
/// A cell of the lens grid is coloured by the probability of its likeliest token; the rank of one token; the entropy of what
/// it predicts; or how far that is from what the last layer predicts.
enum class LensColor : std::uint8_t { Probability, Rank, Entropy, Divergence };

/// Throws UsageError where the file of a linear lens has another ending than one.
SettingValue parse_lens_flag(const std::string& flag, const std::string& text);

struct PredictionsSettings : SettingGroup {
  PredictionsSettings() : SettingGroup{.name = "predictions", .view = "predictions"} {}

  Setting<PredictionsPart> part{
      *this,
      {.key = "part",
       .undo = "Choose positions of predictions",
       .options = {{"position", "this position", "The prediction at one position, with its bars and its layers."},
                   {"positions", "every position", "The likeliest tokens at every position of the text."},
                   {"layers", "every layer", "What every layer would predict at every position: the lens grid."}},
       .is_look = true,
       .flag = "--predictions",
       .flag_help = "the view Predictions: one position, all positions, or every layer at all of them"}};
  Setting<LensColor> lens_color{
      *this,
      {.key = "lens_color",
       .undo = "Choose colours of the lens",
       .options = {{"probability", "probability", "How sure each layer is: the probability of its likeliest token."},
                   {"rank", "rank", "How far up one token is: 1 where the layer finds no token likelier."},
                   {"entropy", "entropy",
                    "How undecided each layer is: the entropy of what it predicts, in nats (1 nat is 1.44 bits)."},
                   {"kl", "KL to the last layer",
                    "How far each layer is from what the model predicts: the Kullback\u2013Leibler divergence, in nats (1 "
                    "nat is 1.44 "
                    "bits), 0 where they agree."}},
       .is_look = true,
       .flag = "--lens-color",
       .flag_help =
           "colours of --predictions layers: the likeliest token's probability, a token's rank, the entropy, or the "
           "divergence from the last layer"}};
  /// Id of the ranked token; none: at each position the last layer's likeliest.
  Setting<std::optional<std::uint32_t>> ranked{*this, {.key = "ranked", .undo = "Choose ranked token", .most = kMostIndex}};
  /// File of a linear lens (model/linear_lens.h); empty: the logit lens.
  Setting<std::string> lens{*this,
                            {.key = "lens",
                             .undo = "Choose linear lens",
                             .flag = "--lens",
                             .flag_help = "a linear lens, as tuned-lens trains it, for --predictions layers",
                             .flag_value = "FILE",
                             .parse_flag = parse_lens_flag}};
};
inline const PredictionsSettings kPredictionsView;

}  // namespace headlight::app
