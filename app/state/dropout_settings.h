#pragma once

#include <limits>

#include "app/state/setting.h"
#include "attention/dropout.h"

namespace headlight::app {

/// Returns "dropout 0.1 of weights, branches, seed 1"; empty: it is off.
std::string dropout_in_words(const Choices& choices);
/// Adds dropout at those of the chosen sites that this network has.
void add_dropout(const Choices& choices, const model::Network& network, std::vector<inference::Intervention>& all);

/// Dropout in the pass, as training has it: off until there is a probability.
struct DropoutSettings : SettingGroup {
  DropoutSettings() : SettingGroup{.name = "dropout", .words = &dropout_in_words, .add = &add_dropout} {}

  Setting<float> probability{
      *this,
      {.key = "probability",
       .undo = "Change dropout",
       .most = attention::kMaxDropout,
       .step = 0.01,
       .is_continuous = true,
       .label = "Dropout",
       .help =
           "The probability with which each number is dropped, as in training; what is kept is divided by 1 \u2212 it, so "
           "that only means over many seeds stay, and rows of weights no longer add up to 1. 0: off.",
       .flag = "--dropout",
       .flag_help =
           "each number of the sites below is dropped with this probability, and what is kept divided by 1 - it, as "
           "training does; rows of weights no longer add up to 1, 0 to 0.99 (default 0)"}};
  Setting<std::uint32_t> seed{*this,
                              {.key = "seed",
                               .undo = "Change dropout's seed",
                               .most = std::numeric_limits<std::uint32_t>::max(),
                               .is_continuous = true,
                               .label = "Its seed",
                               .help = "The same seed drops the same numbers.",
                               .flag = "--dropout-seed",
                               .flag_help = "which numbers are dropped: the same ones for the same seed (default 1)"},
                              1};
  Setting<bool> weights{*this,
                        {.key = "weights",
                         .undo = "Switch dropout of weights",
                         .label = "of weights",
                         .help = "After softmax. Crosses mark the dropped cells.",
                         .flag = "--dropout-weights",
                         .flag_help = "dropout of the weights, after softmax (default on)"},
                        true};
  Setting<bool> embeddings{*this,
                           {.key = "embeddings",
                            .undo = "Switch dropout of embeddings",
                            .label = "of embeddings",
                            .help = "Of the token vectors with their positions, before the first layer.",
                            .flag = "--dropout-embeddings",
                            .flag_help = "dropout of the token vectors with their positions (default on)"},
                           true};
  Setting<bool> branches{
      *this,
      {.key = "branches",
       .undo = "Switch dropout of branches",
       .label = "of branches",
       .help = "Of what attention and feed-forward return, before the residual is added.",
       .flag = "--dropout-branches",
       .flag_help = "dropout of what attention and feed-forward return, before the residual is added (default on)"},
      true};
  Setting<bool> inner{*this,
                      {.key = "feed_forward",
                       .undo = "Switch dropout inside the feed-forward",
                       .label = "in the feed-forward",
                       .help = "Of its inner layer, after the activation.",
                       .flag = "--dropout-feed-forward",
                       .flag_help = "dropout of the feed-forward's inner layer, after its activation (default on)"},
                      true};
};
inline const DropoutSettings kDropout;

/// Returns which weights of the block are dropped; none where dropout is off or elsewhere.
std::optional<attention::DropoutPlan> weight_dropout(const Choices& choices, model::BlockRef block);

}  // namespace headlight::app
