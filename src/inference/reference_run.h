#pragma once

#include "attention/mask.h"
#include "attention/reference.h"
#include "inference/intervention.h"

namespace headlight::model::reference {

/// A whole pass of the layers in attention/reference.h. Its plain loops in double precision are the oracle of tests and of
/// `headlight-bench --check`; with faster arithmetic it is the pass where there is no device (inference/processor_run.h).

struct Run {
  std::vector<BlockRef> blocks;
  std::vector<AttentionStages> stages;  ///< one for each of `blocks`
  /// [batch, token, d_model] each: token vectors, then the state after each layer, before the final norm.
  std::vector<Array> encoder_hidden, decoder_hidden;
  Array encoder_output;  ///< [batch, n, d_model] after the final norm; empty without an encoder
  Array decoder_output;  ///< [batch, n_target, d_model] after the final norm; empty without a decoder
  Array logits;          ///< [batch, token, vocabulary]; empty without an unembedding
};

/// A whole forward pass.
Run run(const Network& network, const ModelInput& input, const PassRules& rules);
/// The oracle's, with one fill. What the layers' windows hide isn't visible either.
Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill,
        const SiteEdit& edit = {}, const ScoreEdit& score = {}, const ScoreEdit& weight = {});

/// [batch, token, d] → logits [batch, token, vocabulary]
Array unembed(const Unembedding& unembedding, Array x, const Arithmetic& arithmetic = {});

}  // namespace headlight::model::reference

namespace headlight::inference {

/// Returns the rules of a pass, whose arithmetic is the oracle's: visible are the cells that the masks show, by their
/// rules, paint, expressions and the layers' windows, and that replaced patterns have. All arguments must outlive them.
model::reference::PassRules reference_rules(const model::Network& network, const model::ModelInput& input,
                                            const attention::MaskSet& masks, const Interventions& interventions);
/// The interventions at sites alone; none without any.
model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input);

}  // namespace headlight::inference
