#include "app/widgets/cells/other_numbers.h"

#include <fmt/ranges.h>

#include "app/engine/analyses/head_metric_text.h"
#include "app/engine/engine.h"
#include "app/widgets/cells/provenance.h"

namespace headlight::app {
namespace {

/// Returns "columns 64–127", "row 5", "rows 0, 2, 4, … (32, rearranged)".
std::string part_text(const model::StoredRows& stored) {
  const std::size_t count = stored.rows.size();
  const std::string axis = stored.shape.size() < 2 ? "number" : stored.is_transposed ? "column" : "row";
  if (count == 0) return {};
  if (count == 1) return fmt::format("{} {}", axis, stored.rows.front());
  const auto is_next = [](std::uint32_t row, std::uint32_t after) { return after == row + 1; };
  const bool is_run = std::ranges::adjacent_find(stored.rows, [&](std::uint32_t row, std::uint32_t after) {
                        return !is_next(row, after);
                      }) == stored.rows.end();
  if (is_run) return fmt::format("{}s {}\u2013{}", axis, stored.rows.front(), stored.rows.back());
  return fmt::format("{}s {}, {}, \u2026 {} ({}, in another order)", axis, stored.rows[0], stored.rows[1],
                     stored.rows.back(), count);
}

constexpr std::string_view kGiven = "nothing: it is a weight of the model, the same for every text";
constexpr std::string_view kAttribution = "direct logit attribution, in double on the host";
constexpr std::array<OtherNumber, 31> kOthers = {{
    {kQueryWeight, "query weights W_Q", kGiven, "", true, Axis::Feature},
    {kKeyWeight, "key weights W_K", kGiven, "", true, Axis::Feature},
    {kValueWeight, "value weights W_V", kGiven, "", true, Axis::Feature},
    {kOutputWeight, "output weights W_O", kGiven, "", false, Axis::Feature},
    {kMemoryNumber, "memory", "the encoder, or the second text's token vectors where there is none",
     "all tokens of the source", false, Axis::KeyToken},
    {kGateWeight, "gate weights W_G", kGiven, "", false, Axis::Feature},
    {kHiddenWeight, "feed-forward weights W_1", kGiven, "", false, Axis::Feature},
    {kFfnWeight, "feed-forward weights W_2", kGiven, "", false, Axis::Feature},
    {kRouterWeight, "router weights W_R", kGiven, "", false, Axis::Feature, Axis::Expert},
    {kExpertLoad, "load of an expert", "counted on the host", "the gates of all tokens of the line", false, Axis::Token,
     Axis::Expert},
    {kLogitNumber, "logit", "final norm, then the token's row of the unembedding (linear layer)",
     "the last layer's state at this position"},
    {kLogitPart, "part of a logit", kAttribution,
     "what this part wrote into the residual stream, times the final norm's scale and the token's row of the unembedding"},
    {kLogitOther, "part of a logit that no layer writes", kAttribution,
     "the token's vector with its position, or biases after the last layer, times the token's row of the unembedding"},
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

std::string weight_origin(const EngineResult& result, const model::Parameter& weight, std::uint32_t first,
                          std::uint32_t count) {
  const model::StoredRows stored = model::stored_rows(weight, first, count);
  if (!stored.name.tensor.empty()) {
    return fmt::format("{} {} {}, {}, {}", stored.name.tensor, headlight::to_string(stored.shape), stored.type,
                       part_text(stored), utf8(stored.name.file.filename()));
  }
  if (!stored.name.file.empty()) return fmt::format("{}, which has changed since it was opened", utf8(stored.name.file));
  if (!result.inputs) return "given";
  return match(
      result.inputs->source,
      [&](const Playground& playground) {
        return fmt::format("drawn with seed {}, as PyTorch draws it; {} {} of {}", playground.settings.seed,
                           weight.shape().size() < 2 ? "numbers" : "rows",
                           count == 1 ? fmt::format("{}", first) : fmt::format("{}\u2013{}", first, first + count - 1),
                           headlight::to_string(weight.shape()));
      },
      [](const Notebook& notebook) {
        const std::vector<std::string> changes = inference::words_of(notebook.edits);
        return fmt::format("made as {} makes it{}{}", notebook.name,
                           changes.empty() ? "" : "; changed: ", fmt::join(changes, " \u00B7 "));
      },
      [](const Model&) { return std::string("computed when the model was opened, from its settings"); },
      [](const Capture& capture) { return fmt::format("read from {}", capture.path); });
}

const OtherNumber* find_other_number(std::string_view id) {
  const auto* found = std::ranges::find(kOthers, id, &OtherNumber::id);
  return found == kOthers.end() ? nullptr : found;
}

}  // namespace headlight::app
