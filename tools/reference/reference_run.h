#pragma once

#include <functional>
#include <vector>

#include "attention/mask.h"
#include "inference/intervention.h"
#include "model/reference.h"
#include "model/site.h"

namespace headlight::model::reference {

/// The oracle of tests and of `headlight-bench --check`: a whole pass in plain loops and double precision, of the parts in
/// model/reference.h.

/// Changes the numbers of a site [batch, head, token, d] of a block where the pass has computed them; sites without heads
/// have one. Of Site::Weights the numbers are the queries, where a uniform pattern begins.
using SiteEdit = std::function<void(BlockRef block, Site site, Array& values)>;

struct Run {
  std::vector<BlockRef> blocks;
  std::vector<AttentionStages> stages;  ///< one for each of `blocks`
  /// [batch, token, d_model] each: token vectors, then the state after each layer, before the final norm.
  std::vector<Array> encoder_hidden, decoder_hidden;
  Array encoder_output;  ///< [batch, n, d_model] after the final norm; empty without an encoder
  Array decoder_output;  ///< [batch, n_target, d_model] after the final norm; empty without a decoder
  Array logits;          ///< [batch, token, vocabulary]; empty without an unembedding
};

/// A whole forward pass. `fill` replaces masked scores; −inf leaves fully masked rows without weights (zeros).
Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill,
        const SiteEdit& edit = {}, const ScoreEdit& score = {}, const ScoreEdit& weight = {});

/// [batch, token, d] → logits [batch, token, vocabulary]
Array unembed(const Unembedding& unembedding, Array x);

}  // namespace headlight::model::reference

namespace headlight::inference {

/// The interventions as the reference takes them. Both must outlive the result.
model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input);
/// `is_visible` and `edit` (or none) with the patterns of replaced heads. All but these must outlive the results.
model::reference::Visibility reference_visibility(const Interventions& interventions, const model::ModelInput& input,
                                                  const attention::MaskSet& masks, model::reference::Visibility is_visible);
model::reference::ScoreEdit reference_scores(const Interventions& interventions, model::reference::ScoreEdit edit = {});
/// What dropout makes of weights.
model::reference::ScoreEdit reference_weights(const Interventions& interventions);

}  // namespace headlight::inference
