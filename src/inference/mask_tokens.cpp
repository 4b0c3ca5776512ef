#include "inference/mask_tokens.h"

#include <algorithm>

namespace headlight::inference {

std::vector<std::uint32_t> token_segments(const model::TokenBatch& tokens, std::span<const std::uint32_t> separators) {
  std::vector<std::uint32_t> segments(tokens.ids.size());
  std::uint32_t segment = 0;
  for (std::size_t at = 0; at < segments.size(); ++at) {
    if (at % tokens.length == 0) segment = 0;
    segments[at] = segment;
    segment += std::ranges::find(separators, tokens.ids[at]) != separators.end() ? 1u : 0u;
  }
  return segments;
}

std::uint32_t layer_count(const model::Network& network, model::BlockKind kind) {
  const bool is_encoder = kind == model::BlockKind::EncoderSelf;
  return static_cast<std::uint32_t>(is_encoder ? network.layers->encoder.size() : network.layers->decoder.size());
}

MaskTokens::MaskTokens(const model::Network& network, const model::ModelInput& input, model::BlockKind kind,
                       const attention::MaskSpec& mask)
    : network_(network), kind_(kind), queries_(input.queries(kind)), keys_(input.keys(kind)) {
  if (!mask.mask_expression.needs().segments && !mask.score_expression.needs().segments) return;
  query_segments_ = token_segments(queries_, network.separators);
  key_segments_ = token_segments(keys_, network.separators);
}

attention::ExpressionTokens MaskTokens::all() const {
  return {.query_ids = queries_.ids,
          .key_ids = keys_.ids,
          .query_types = queries_.types,
          .key_types = keys_.types,
          .query_segments = query_segments_,
          .key_segments = key_segments_};
}

attention::ExpressionMap MaskTokens::map(std::uint32_t layer, std::uint32_t item, std::uint32_t head) const {
  const auto of_item = [&](const std::vector<std::uint32_t>& all, std::uint32_t length) {
    return all.empty() ? std::span<const std::uint32_t>() : std::span(all).subspan(std::size_t{item} * length, length);
  };
  return {.layer = layer,
          .layers = layer_count(network_, kind_),
          .head = head,
          .heads = network_.layer({kind_, LayerIndex{layer}}).config.heads,
          .queries = queries_.length,
          .keys = keys_.length,
          .tokens = {.query_ids = of_item(queries_.ids, queries_.length),
                     .key_ids = of_item(keys_.ids, keys_.length),
                     .query_types = of_item(queries_.types, queries_.length),
                     .key_types = of_item(keys_.types, keys_.length),
                     .query_segments = of_item(query_segments_, queries_.length),
                     .key_segments = of_item(key_segments_, keys_.length)}};
}

}  // namespace headlight::inference
