#include "app/analyses/path_chain.h"

#include "core/error.h"

namespace headlight::app {
namespace {

using model::BlockKind;

/// Position of a block in its stack: self-attention before cross-attention.
std::pair<std::uint32_t, BlockKind> order_of(model::BlockRef block) { return {block.layer.value, block.kind}; }

bool is_of_encoder(model::BlockKind kind) { return kind == BlockKind::EncoderSelf; }

}  // namespace

std::vector<model::BlockRef> path_chain(const HeadRef& receiver, PathInput input, BlockKind senders,
                                        const AnalysisSubject& subject) {
  const bool reads_encoder = receiver.block.kind == BlockKind::Cross && input != PathInput::Query;
  const bool is_in_encoder = reads_encoder || is_of_encoder(receiver.block.kind);
  if (is_of_encoder(senders) != is_in_encoder) {
    throw Error("no direct path leads from heads of {} attention to {} attention's {}: choose {}", model::to_string(senders),
                model::to_string(receiver.block.kind), input == PathInput::Query ? "queries" : "keys or values",
                is_in_encoder ? "Encoder" : "Decoder or Cross");
  }
  std::vector<model::BlockRef> chain;
  for (const auto& [block, shape] : subject.shapes) {
    const bool is_before = reads_encoder || order_of(block) < order_of(receiver.block);
    if (is_of_encoder(block.kind) == is_in_encoder && is_before) chain.push_back(block);
  }
  std::ranges::sort(chain, {}, order_of);
  const bool has_senders = std::ranges::any_of(chain, [&](model::BlockRef block) { return block.kind == senders; });
  if (!has_senders) throw Error("no head of this kind comes before the receiver: choose one in a later layer");
  return chain;
}

}  // namespace headlight::app
