#include "app/state/dropout_settings.h"

#include <fmt/ranges.h>

#include "inference/intervention.h"

namespace headlight::app {

std::string dropout_in_words(const Choices& choices) {
  std::vector<const char*> sites;
  for (const auto& [site, word] : {std::pair(&kDropout.weights, "weights"), std::pair(&kDropout.embeddings, "embeddings"),
                                   std::pair(&kDropout.branches, "branches"), std::pair(&kDropout.inner, "feed-forward")}) {
    if (choices[*site]) sites.push_back(word);
  }
  const float probability = choices[kDropout.probability];
  if (probability == 0.0F || sites.empty()) return {};
  return fmt::format("dropout {:g} of {}, seed {}", probability, fmt::join(sites, ", "), choices[kDropout.seed]);
}

void add_dropout(const Choices& choices, const model::Network& network, inference::Interventions& all) {
  const inference::Dropout dropout{.probability = choices[kDropout.probability], .seed = choices[kDropout.seed]};
  const auto add = [&](const Setting<bool>& is_chosen, model::Site site, const inference::Scope& scope = {}) {
    inference::Intervention one{.site = site, .scope = scope, .operation = dropout};
    if (choices[is_chosen] && inference::fits(network, one)) all.push_back(std::move(one));
  };
  add(kDropout.weights, model::Site::Weights);
  // A decoder without self-attention begins with its cross-attention.
  const bool has_self = network.layers->decoder.empty() || network.layers->decoder.front().self;
  add(kDropout.embeddings, model::Site::Residual, {.kind = model::BlockKind::EncoderSelf, .layer = 0});
  add(kDropout.embeddings, model::Site::Residual,
      {.kind = has_self ? model::BlockKind::DecoderSelf : model::BlockKind::Cross, .layer = 0});
  add(kDropout.branches, model::Site::AttentionOutput);
  add(kDropout.branches, model::Site::FeedForward);
  add(kDropout.inner, model::Site::Inner);
}

std::optional<attention::DropoutPlan> weight_dropout(const Choices& choices, model::BlockRef block) {
  const float probability = choices[kDropout.probability];
  if (probability == 0.0F || !choices[kDropout.weights]) return std::nullopt;
  return attention::dropout_plan(probability, choices[kDropout.seed], model::Site::Weights, block);
}

}  // namespace headlight::app
