#include "inference/alignment.h"

#include <algorithm>

#include "core/error.h"

namespace headlight::inference {
namespace {

/// Is the token none of the text's own, also where it was given as an id?
bool is_special(const LanguageModel& model, const text::Tokenizer* tokenizer, const text::Token& token) {
  const model::SpecialIds& ids = model.description.ids;
  const auto is = [&](const std::optional<std::uint32_t>& id) { return id == token.id; };
  if (token.is_special || is(ids.bos) || is(ids.pad) || is(ids.decoder_start)) return true;
  if (std::ranges::find(ids.eos, token.id) != ids.eos.end()) return true;
  if (tokenizer == nullptr) return false;
  const text::SpecialTokens& special = tokenizer->special();
  return is(special.beginning) || is(special.end) || is(special.padding);
}

/// Mean over the tiles of one item's heads, [query, key] as each of them.
std::vector<float> mean_of(std::span<const attention::Tile> heads) {
  std::vector<float> mean(heads.front().values.size(), 0.0f);
  for (const attention::Tile& head : heads) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += head.values[i];
  }
  for (float& value : mean) value /= static_cast<float>(heads.size());
  return mean;
}

}  // namespace

std::vector<std::vector<AlignedToken>> align(const Run& run, const LanguageModel& model, const Prompt& prompt,
                                             std::optional<std::uint32_t> layer) {
  const std::size_t layers = model.network->layers->decoder.size();
  if (layers == 0 || !prompt.input.target) throw Error("{} has no cross-attention to align by", model.description.name);
  const model::BlockRef block{model::BlockKind::Cross, LayerIndex{layer.value_or(static_cast<std::uint32_t>(layers) - 1)}};
  if (block.layer.value >= layers) throw Error("the decoder has {} layers, none is number {}", layers, block.layer.value);

  const BlockShape shape = run.shape(block);
  std::vector<attention::TileRequest> requests;
  for (std::uint32_t item = 0; item < shape.batch; ++item) {
    for (std::uint32_t head = 0; head < shape.heads; ++head) {
      requests.push_back({.block = block, .batch = item, .head = head, .rows = shape.queries, .columns = shape.keys});
    }
  }
  const std::vector<attention::Tile> tiles = run.evaluate(requests);

  std::vector<std::vector<AlignedToken>> aligned(shape.batch);
  for (std::uint32_t item = 0; item < shape.batch; ++item) {
    const std::vector<float> weights = mean_of(std::span(tiles).subspan(std::size_t{item} * shape.heads, shape.heads));
    const std::vector<text::Token>& source = prompt.tokens[item];
    const std::vector<text::Token>& target = prompt.target_tokens[item];
    const std::uint32_t first_row = prompt.input.target->start(item), first_column = prompt.input.source.start(item);
    for (std::uint32_t token = 1; token < target.size(); ++token) {
      if (is_special(model, model.target_tokenizer.get(), target[token])) continue;
      const std::size_t row = std::size_t{first_row + token - 1} * shape.keys + first_column;
      std::optional<AlignedToken> best;
      for (std::uint32_t key = 0; key < source.size(); ++key) {
        if (is_special(model, model.tokenizer.get(), source[key])) continue;
        const float weight = weights[row + key];
        if (!best || weight > best->weight) best = {.target = token, .source = key, .weight = weight};
      }
      if (best) aligned[item].push_back(*best);
    }
  }
  return aligned;
}

}  // namespace headlight::inference
