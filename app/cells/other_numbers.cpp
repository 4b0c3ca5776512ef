#include "app/cells/other_numbers.h"

#include <algorithm>
#include <array>

#include "app/analyses/head_metric_text.h"
#include "app/cells/provenance.h"

namespace headlight::app {
namespace {

constexpr std::string_view kGiven = "nothing: it is a weight of the model, the same for every text";
constexpr std::string_view kAttribution = "direct logit attribution, in double on the host";
constexpr std::array<OtherNumber, 29> kOthers = {{
    {kQueryWeight, "query weights W_Q", kGiven, "", true, Axis::Feature},
    {kKeyWeight, "key weights W_K", kGiven, "", true, Axis::Feature},
    {kValueWeight, "value weights W_V", kGiven, "", true, Axis::Feature},
    {kOutputWeight, "output weights W_O", kGiven, "", false, Axis::Feature},
    {kMemoryNumber, "memory", "the encoder, or the second text's token vectors where there is none",
     "all tokens of the source", false, Axis::KeyToken},
    {kGateWeight, "gate weights W_G", kGiven, "", false, Axis::Feature},
    {kHiddenWeight, "feed-forward weights W_1", kGiven, "", false, Axis::Feature},
    {kFfnWeight, "feed-forward weights W_2", kGiven, "", false, Axis::Feature},
    {kLogitNumber, "logit", "final norm, then the token's row of the unembedding (linear layer)",
     "the last layer's state at this position"},
    {kLogitPart, "part of a logit", kAttribution,
     "what this part wrote into the residual stream, times the final norm's scale and the token's row of the unembedding"},
    {kLogitOther, "part of a logit that no layer writes", kAttribution,
     "the token's vector with its position, or biases behind the last layer, times the token's row of the unembedding"},
    {kLogitHead, "part of a logit from one head", kAttribution,
     "the head's output times its rows of W_O, times the final norm's scale and the token's row of the unembedding"},
    {kLogitSource, "what heads bring to a logit from one token", kAttribution,
     "weights, values, W_O and the token's row of the unembedding"},
    {kHeadMetricNumber, "what a head does", "a sum over rows of weights, in double on the host",
     "the head's attention weights, every key of each row", true},
    {kProbability, "probability of a token", "softmax over the logits of the whole vocabulary, in double on the host",
     "this position's logits: the last layer's state through the final norm and the unembedding", false, Axis::Token,
     Axis::Feature, Finding::Prediction},
    {kLensProbability, "probability of a token, read after a layer",
     "logit lens: softmax over the logits of the whole vocabulary, in double on the host",
     "the state after this layer through the final norm and the unembedding, as if no layer followed", false, Axis::Token,
     Axis::Feature, Finding::Prediction},
    {kFlowShare, "share of an information-flow route",
     "max(\u2016y\u2016\u2081 \u2212 \u2016y \u2212 part\u2016\u2081, 1e-5), divided by the sum over all parts, in double "
     "on the host; what is below the threshold is left out and the rest divided by its sum",
     "the residual stream around the layer, the heads' weights and values, and W_O", false, Axis::Token, Axis::KeyToken,
     Finding::Flow},
    {kMlpShare, "the MLP's share of a state",
     "max(\u2016y\u2016\u2081 \u2212 \u2016y \u2212 part\u2016\u2081, 1e-5), divided by the sum of MLP and rest, in double "
     "on the host",
     "the residual stream before and after the layer, and what attention adds to it", false, Axis::Token, Axis::Feature,
     Finding::Flow},
    {kRolloutShare, "part of attention rollout in one layer",
     "the mean weight over heads, mixed with the residual stream, in double on the host",
     "the layer's attention weights of all heads; values and MLPs don't count", false, Axis::Token, Axis::KeyToken,
     Finding::Attention},
    {kMaximumFlow, "part of attention flow in one layer",
     "the part of the largest flow that this edge carries, in double on the host",
     "the layers' mean attention weights with the residual stream as capacities; values and MLPs don't count", false,
     Axis::Token, Axis::KeyToken, Finding::Attention},
    {kLargestFlow, "attention flow",
     "the largest flow from the last layer's state to the token's vector, in double on the host",
     "all layers' mean attention weights with the residual stream as capacities; values and MLPs don't count", false,
     Axis::Token, Axis::KeyToken, Finding::Attention},
    {kKnockoutChange, "change without a head",
     "a forward pass of its own without this head's output, less the run on screen; softmax in double on the host",
     "both passes' logits at the position", true, Axis::Token, Axis::Feature, Finding::Effect},
    {kPatchRecovery, "effect of a patch",
     "(patched \u2212 target) \u00f7 (source \u2212 target): the patched number is that of a forward pass of its own, in "
     "double on the host",
     "the logits of three passes at the position", false, Axis::Token, Axis::Feature, Finding::Effect},
    {kPathRecovery, "effect of a path between heads",
     "(patched \u2212 target) \u00f7 (source \u2212 target): two forward passes, one that finds what the receiver learns, "
     "one in which only that is replaced, in double on the host",
     "the logits of the passes at the position", true, Axis::Token, Axis::Feature, Finding::Effect},
    {kHeadDifference, "difference of two heads' attention",
     "the mean over queries of the Jensen\u2013Shannon divergence of both rows, in bits, in double on the host",
     "the attention weights of both heads, every key of each row", true, Axis::Token, Axis::Feature, Finding::Attention},
    {kAttentionMass, "attention from tokens to tokens",
     "the mean over the queries of the sum of their weights on the keys, in double on the host",
     "the head's attention weights", true, Axis::Token, Axis::Feature, Finding::Attention},
    {kPatternMatch, "match of a head with a pattern",
     "the mean over queries of the weight on the pattern's keys, in double on the host",
     "the head's attention weights, every key of each row", true, Axis::Token, Axis::Feature, Finding::Attention},
    {kComposition, "composition of two heads",
     "a ratio of Frobenius norms of products of the weights, in double on the host",
     "weights of the model alone, the same for every text: W_V and W_O of the earlier head, and of the later one W_Q and "
     "W_K, or W_V and W_O",
     true, Axis::Token, Axis::Feature, Finding::Circuit},
    {kCopying, "how much a head copies",
     "Re \u03a3\u03bb \u00f7 \u03a3|\u03bb| of the eigenvalues of W_V\u00b7W_O, in double on the host",
     "weights of the model alone, the same for every text", true, Axis::Token, Axis::Feature, Finding::Circuit},
}};

}  // namespace

const OtherNumber* find_other_number(std::string_view id) {
  const auto* found = std::ranges::find(kOthers, id, &OtherNumber::id);
  return found == kOthers.end() ? nullptr : found;
}

}  // namespace headlight::app
