#include "support/visibility.h"

#include <map>
#include <memory>

#include "inference/prompt.h"

namespace headlight::test {
namespace {

/// What the masks of each kind of attention read, made once.
class TokensByKind {
 public:
  TokensByKind(const attention::MaskSet& masks, const model::Network& network, const model::ModelInput& input) {
    for (const model::BlockRef block : network.blocks()) {
      by_kind_.try_emplace(block.kind, network, input, block.kind, masks[block.kind]);
    }
  }
  attention::ExpressionMap map(model::BlockRef block, std::uint32_t batch, std::uint32_t head) const {
    return by_kind_.at(block.kind).map(block.layer.value, batch, head);
  }

 private:
  std::map<model::BlockKind, inference::MaskTokens> by_kind_;
};

}  // namespace

model::reference::Visibility visibility(const attention::MaskSet& masks, const model::ModelInput& input) {
  return [&masks, &input](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key) {
    return masks[block.kind].is_visible(block.layer.value, batch, head, query, key, input.keys(block.kind).lengths[batch]);
  };
}

model::reference::Visibility visibility(const attention::MaskSet& masks, const model::Network& network,
                                        const model::ModelInput& input) {
  const auto tokens = std::make_shared<const TokensByKind>(masks, network, input);
  return [&masks, &input, tokens](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                                  std::uint32_t key) {
    const model::TokenBatch& keys = input.keys(block.kind);
    return masks[block.kind].is_visible(tokens->map(block, batch, head), batch, {query, key},
                                        {keys.start(batch), keys.start(batch) + keys.lengths[batch]});
  };
}

model::reference::ScoreEdit score_edit(const attention::MaskSet& masks, const model::Network& network,
                                       const model::ModelInput& input) {
  const auto tokens = std::make_shared<const TokensByKind>(masks, network, input);
  return [&masks, tokens](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key, double score) {
    const attention::MaskSpec& mask = masks[block.kind];
    return mask.score(tokens->map(block, batch, head), batch, {query, key}, score);
  };
}

}  // namespace headlight::test
