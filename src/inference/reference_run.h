#pragma once

#include <array>
#include <functional>
#include <vector>

#include "attention/mask.h"
#include "attention/stage.h"
#include "inference/intervention.h"
#include "model/reference.h"
#include "model/site.h"

namespace headlight::model::reference {

/// A whole pass of the parts in model/reference.h. Its plain loops in double precision are the oracle of tests and of
/// `headlight-bench --check`; with faster arithmetic it is the pass where there is no device (inference/processor_run.h).

/// torch.nn.functional's relu, gelu, gelu(approximate="tanh") and silu, relu squared, and transformers' quick_gelu.
double activated(Activation activation, double x);

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

/// Rules of a pass that aren't in the network: visibility, edits, arithmetic. Objects that its functions refer to must
/// outlive the pass.
struct PassRules {
  Visibility is_visible;
  /// The number that replaces masked scores, indexed by BlockKind; −inf leaves fully masked rows without weights
  /// (zeros).
  std::array<double, kBlockKinds> fills = {};
  SiteEdit edit = {};
  ScoreEdit score = {}, weight = {};
  Arithmetic arithmetic = {};
  /// Gets each block when its layer is computed, with the layer's input, and then Run has neither stages nor
  /// logits; without this function it has both.
  std::function<void(BlockRef block, const Array& x, AttentionStages&& stages)> take = {};
};

/// A whole forward pass.
Run run(const Network& network, const ModelInput& input, const PassRules& rules);
/// The oracle's, with one fill.
Run run(const Network& network, const ModelInput& input, const Visibility& is_visible, double fill,
        const SiteEdit& edit = {}, const ScoreEdit& score = {}, const ScoreEdit& weight = {});

/// One block of a pass again, from its layer's input; `memory` is the encoder's result, which a cross-attention reads.
AttentionStages run_block(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block,
                          const Array& x, const Array& memory);
/// The attention of a block as a pass computes it. All arguments must outlive it.
Attention attention_of(const Network& network, const ModelInput& input, const PassRules& rules, BlockRef block);

/// [batch, token, d] → logits [batch, token, vocabulary]
Array unembed(const Unembedding& unembedding, Array x, const Arithmetic& arithmetic = {});

}  // namespace headlight::model::reference

namespace headlight::inference {

/// A stage of a block as the reference computed it; empty where the block has none.
const model::reference::Array& stage_of(const model::reference::AttentionStages& stages, attention::Stage stage);

/// Returns the cells that the masks show, by their rules, paint and expressions. The second function returns the
/// changes that their score expressions and painted biases make to scores (none: scores stay as they are). All
/// arguments must outlive the results.
model::reference::Visibility reference_visibility(const attention::MaskSet& masks, const model::Network& network,
                                                  const model::ModelInput& input);
model::reference::ScoreEdit reference_scores(const attention::MaskSet& masks, const model::Network& network,
                                             const model::ModelInput& input);

/// The interventions as the reference takes them; none where they change nothing of that kind. Both must outlive the result.
model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input);
/// `is_visible` and `edit` (or none) with the patterns of replaced heads. All but these must outlive the results.
model::reference::Visibility reference_visibility(const Interventions& interventions, const model::ModelInput& input,
                                                  const attention::MaskSet& masks, model::reference::Visibility is_visible);
model::reference::ScoreEdit reference_scores(const Interventions& interventions, model::reference::ScoreEdit edit = {});
/// Returns the changes that dropout makes to weights.
model::reference::ScoreEdit reference_weights(const Interventions& interventions);

}  // namespace headlight::inference
