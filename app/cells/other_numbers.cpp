#include "app/cells/other_numbers.h"

#include <algorithm>
#include <array>

#include "app/analyses/head_metric_text.h"
#include "app/cells/provenance.h"

namespace headlight::app {
namespace {

constexpr std::string_view kGiven = "nothing: it is a weight of the model, the same for every text";
constexpr std::array kOthers = {
    OtherNumber{kQueryWeight, "query weights W_Q", kGiven, "", true, Axis::Feature},
    OtherNumber{kKeyWeight, "key weights W_K", kGiven, "", true, Axis::Feature},
    OtherNumber{kValueWeight, "value weights W_V", kGiven, "", true, Axis::Feature},
    OtherNumber{kOutputWeight, "output weights W_O", kGiven, "", false, Axis::Feature},
    OtherNumber{kMemoryNumber, "memory", "the encoder, or the second text's token vectors where there is none",
                "all tokens of the source", false, Axis::KeyToken},
    OtherNumber{kGateWeight, "gate weights W_G", kGiven, "", false, Axis::Feature},
    OtherNumber{kHiddenWeight, "feed-forward weights W_1", kGiven, "", false, Axis::Feature},
    OtherNumber{kFfnWeight, "feed-forward weights W_2", kGiven, "", false, Axis::Feature},
    OtherNumber{kLogitNumber, "logit", "final norm, then the token's row of the unembedding (linear layer)",
                "the last layer's state at this position"},
    OtherNumber{kLogitPart, "part of a logit", "direct logit attribution, in double on the host",
                "what this part wrote into the residual stream, times the final norm's scale and the token's row of the "
                "unembedding"},
    OtherNumber{kLogitOther, "part of a logit that no layer writes", "direct logit attribution, in double on the host",
                "the token's vector with its position, or biases behind the last layer, times the token's row of the "
                "unembedding"},
    OtherNumber{kLogitHead, "part of a logit from one head", "direct logit attribution, in double on the host",
                "the head's output times its rows of W_O, times the final norm's scale and the token's row of the "
                "unembedding"},
    OtherNumber{kLogitSource, "what heads bring to a logit from one token",
                "direct logit attribution, in double on the host",
                "weights, values, W_O and the token's row of the unembedding"},
    OtherNumber{kHeadMetricNumber, "what a head does", "a sum over rows of weights, in double on the host",
                "the head's attention weights, every key of each row", true},
    OtherNumber{.id = kProbability,
                .title = "probability of a token",
                .computed = "softmax over the logits of the whole vocabulary, in double on the host",
                .from = "this position's logits: the last layer's state through the final norm and the unembedding",
                .finding = Finding::Prediction},
    OtherNumber{.id = kLensProbability,
                .title = "probability of a token, read after a layer",
                .computed = "logit lens: softmax over the logits of the whole vocabulary, in double on the host",
                .from = "the state after this layer through the final norm and the unembedding, as if no layer followed",
                .finding = Finding::Prediction},
    OtherNumber{
        .id = kFlowShare,
        .title = "share of an information-flow route",
        .computed =
            "max(\u2016y\u2016\u2081 \u2212 \u2016y \u2212 part\u2016\u2081, 1e-5), divided by the sum over all parts, in "
            "double on the host; what is below the threshold is left out and the rest divided by its sum",
        .from = "the residual stream around the layer, the heads' weights and values, and W_O",
        .columns = Axis::KeyToken,
        .finding = Finding::Flow},
    OtherNumber{
        .id = kMlpShare,
        .title = "the MLP's share of a state",
        .computed =
            "max(\u2016y\u2016\u2081 \u2212 \u2016y \u2212 part\u2016\u2081, 1e-5), divided by the sum of MLP and rest, in "
            "double on the host",
        .from = "the residual stream before and after the layer, and what attention adds to it",
        .finding = Finding::Flow},
    OtherNumber{.id = kRolloutShare,
                .title = "part of attention rollout in one layer",
                .computed = "the mean weight over heads, mixed with the residual stream, in double on the host",
                .from = "the layer's attention weights of all heads; values and MLPs don't count",
                .columns = Axis::KeyToken,
                .finding = Finding::Attention},
    OtherNumber{.id = kMaximumFlow,
                .title = "part of attention flow in one layer",
                .computed = "the part of the largest flow that this edge carries, in double on the host",
                .from = "the layers' mean attention weights with the residual stream as capacities; values and MLPs don't "
                        "count",
                .columns = Axis::KeyToken,
                .finding = Finding::Attention},
    OtherNumber{
        .id = kLargestFlow,
        .title = "attention flow",
        .computed = "the largest flow from the last layer's state to the token's vector, in double on the host",
        .from = "all layers' mean attention weights with the residual stream as capacities; values and MLPs don't count",
        .columns = Axis::KeyToken,
        .finding = Finding::Attention},
    OtherNumber{.id = kKnockoutChange,
                .title = "change without a head",
                .computed =
                    "a forward pass of its own without this head's output, less the run on screen; softmax in double "
                    "on the host",
                .from = "both passes' logits at the position",
                .has_head = true,
                .finding = Finding::Effect},
    OtherNumber{.id = kPatchRecovery,
                .title = "effect of a patch",
                .computed =
                    "(patched \u2212 target) \u00f7 (source \u2212 target): the patched number is that of a forward pass "
                    "of its own, in double on the host",
                .from = "the logits of three passes at the position",
                .finding = Finding::Effect},
    OtherNumber{.id = kPathRecovery,
                .title = "effect of a path between heads",
                .computed =
                    "(patched \u2212 target) \u00f7 (source \u2212 target): two forward passes, one that finds what the "
                    "receiver learns, one in which only that is replaced, in double on the host",
                .from = "the logits of the passes at the position",
                .has_head = true,
                .finding = Finding::Effect},
    OtherNumber{.id = kHeadDifference,
                .title = "difference of two heads' attention",
                .computed =
                    "the mean over queries of the Jensen\u2013Shannon divergence of both rows, in bits, in double on the "
                    "host",
                .from = "the attention weights of both heads, every key of each row",
                .has_head = true,
                .finding = Finding::Attention},
    OtherNumber{.id = kAttentionMass,
                .title = "attention from tokens to tokens",
                .computed = "the mean over the queries of the sum of their weights on the keys, in double on the host",
                .from = "the head's attention weights",
                .has_head = true,
                .finding = Finding::Attention},
    OtherNumber{.id = kPatternMatch,
                .title = "match of a head with a pattern",
                .computed = "the mean over queries of the weight on the pattern's keys, in double on the host",
                .from = "the head's attention weights, every key of each row",
                .has_head = true,
                .finding = Finding::Attention},
    OtherNumber{.id = kComposition,
                .title = "composition of two heads",
                .computed = "a ratio of Frobenius norms of products of the weights, in double on the host",
                .from = "weights of the model alone, the same for every text: W_V and W_O of the earlier head, and of the "
                        "later one W_Q and W_K, or W_V and W_O",
                .has_head = true,
                .finding = Finding::Circuit},
    OtherNumber{
        .id = kCopying,
        .title = "how much a head copies",
        .computed = "Re \u03a3\u03bb \u00f7 \u03a3|\u03bb| of the eigenvalues of W_V\u00b7W_O, in double on the host",
        .from = "weights of the model alone, the same for every text",
        .has_head = true,
        .finding = Finding::Circuit},
};

}  // namespace

const OtherNumber* find_other_number(std::string_view id) {
  const auto* found = std::ranges::find(kOthers, id, &OtherNumber::id);
  return found == kOthers.end() ? nullptr : found;
}

}  // namespace headlight::app
