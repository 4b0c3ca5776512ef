#include "inference/reuse.h"

#include <algorithm>
#include <bit>

namespace headlight::inference {
namespace {

using model::BlockKind;

/// Does the length of the text change what an expression makes of a cell?
bool depends_on_length(const attention::MaskSpec& mask) {
  return mask.mask_expression.needs().text_length || mask.score_expression.needs().text_length;
}

/// Rows that only ever see keys at or before themselves: computing more tokens after them changes nothing.
bool looks_back_only(const attention::MaskSpec& mask, const model::AttentionConfig& config) {
  const bool allows_later_keys = std::any_of(mask.painted.begin(), mask.painted.end(), [](const auto& scope) {
    return std::ranges::any_of(scope.second.runs(), [](const attention::CellRun& run) {
      return run.paint && run.end_key() > std::uint64_t{run.query} + 1;
    });
  });
  // A row that sees nothing attends to all keys alike with a finite fill, also to those that come later.
  return mask.rule.causal && mask.rule.prefix == 0 && mask.fill == attention::MaskFill::NegativeInfinity &&
         !allows_later_keys && !depends_on_length(mask) && config.merge == model::MergeOrder::Concatenate;
}

bool is_stack_causal(const PassInputs& pass, BlockKind kind) {
  const model::Layers& layers = *pass.network->layers;
  const bool is_encoder = kind == BlockKind::EncoderSelf;
  const bool is_mixed =
      mixes_tokens(pass.interventions, kind) || (!is_encoder && mixes_tokens(pass.interventions, BlockKind::Cross));
  if (is_mixed) return false;
  const auto is_causal = [&](const model::AttentionLayer& layer) { return looks_back_only(pass.masks[kind], layer.config); };
  if (is_encoder) return std::all_of(layers.encoder.begin(), layers.encoder.end(), is_causal);
  return std::all_of(layers.decoder.begin(), layers.decoder.end(), [&](const model::DecoderLayer& layer) {
    if (depends_on_length(pass.masks[BlockKind::Cross])) return false;
    return layer.self ? is_causal(*layer.self) : layer.cross.config.merge == model::MergeOrder::Concatenate;
  });
}

/// Room for typing on: doubling up to 1,024 tokens, then in steps of 512. Few lines have room for 64 tokens at least; a
/// file's thousands of short lines would take many times the memory that they need.
std::uint32_t roomy(std::uint32_t length, std::uint32_t batch) {
  constexpr std::uint32_t kMin = 64, kDoubling = 1024, kStep = 512, kMaxSpare = 4096;
  std::uint32_t capacity = std::bit_floor(std::clamp(kMaxSpare / std::max(batch, 1U), 1U, kMin));
  while (capacity < length && capacity < kDoubling) capacity *= 2;
  return capacity >= length ? capacity : (length + kStep - 1) / kStep * kStep;
}

/// The first token that differs in any item; the new length when all that is there is the same.
std::uint32_t first_difference(const model::TokenBatch& now, const model::TokenBatch& before) {
  if (now.batch != before.batch || now.starts != before.starts || !now.vectors.is_empty() || !before.vectors.is_empty()) {
    return 0;
  }
  const auto type = [](const model::TokenBatch& tokens, std::size_t at) {
    return tokens.types.empty() ? 0 : tokens.types[at];
  };
  std::uint32_t same = std::min(now.length, before.length);
  for (std::uint32_t item = 0; item < now.batch; ++item) {
    for (std::uint32_t token = 0; token < same; ++token) {
      const std::size_t at = std::size_t{item} * now.length + token, was = std::size_t{item} * before.length + token;
      const bool is_real = token < now.end(item);
      const bool was_real = token < before.end(item);
      if (now.ids[at] != before.ids[was] || now.position(item, token) != before.position(item, token) ||
          type(now, at) != type(before, was) || is_real != was_real) {
        same = token;
      }
    }
  }
  return same;
}

/// Is all paint that concerns the layer the same?
template <typename Paint>
bool is_same_paint(const attention::PaintByScope<Paint>& left, const attention::PaintByScope<Paint>& right,
                   std::uint32_t layer) {
  const auto concerned = [&](const attention::PaintByScope<Paint>& all) {
    attention::PaintByScope<Paint> cells;
    for (const auto& [scope, painted] : all) {
      if ((!scope.layer || *scope.layer == layer) && !painted.empty()) cells.emplace(scope, painted);
    }
    return cells;
  };
  return left == right || concerned(left) == concerned(right);
}

/// Do masks and interventions leave a block the same?
bool is_same_attention(const PassInputs& now, const PassInputs& before, model::BlockRef block) {
  const attention::MaskSpec &left = now.masks[block.kind], &right = before.masks[block.kind];
  if (left.rule != right.rule || left.fill != right.fill || left.matrix != right.matrix ||
      left.documents != right.documents) {
    return false;
  }
  if (left.mask_expression != right.mask_expression || left.score_expression != right.score_expression ||
      left.sliders != right.sliders) {
    return false;
  }
  return of_block(now.interventions, block) == of_block(before.interventions, block) &&
         is_same_paint(left.painted, right.painted, block.layer.value) &&
         is_same_paint(left.biases, right.biases, block.layer.value);
}

/// Do interventions leave the block the same keys and values?
bool has_same_keys(const PassInputs& now, const PassInputs& before, model::BlockRef block) {
  const auto of_keys = [&](const PassInputs& pass) {
    Interventions mine = of_block(pass.interventions, block);
    std::erase_if(mine,
                  [](const Intervention& one) { return one.site != model::Site::Key && one.site != model::Site::Value; });
    return mine;
  };
  return of_keys(now) == of_keys(before);
}

/// The first layer of the stack whose maps may differ; how many there are when none does.
std::uint32_t first_changed_layer(const PassInputs& now, const PassInputs& before, bool is_decoder) {
  const model::Layers& layers = *now.network->layers;
  const auto count = static_cast<std::uint32_t>(is_decoder ? layers.decoder.size() : layers.encoder.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto is_same = [&](BlockKind kind) { return is_same_attention(now, before, {kind, LayerIndex{i}}); };
    if (is_decoder ? !is_same(BlockKind::DecoderSelf) || !is_same(BlockKind::Cross) : !is_same(BlockKind::EncoderSelf)) {
      return i;
    }
  }
  return count;
}

/// LongRoPE and dynamic scaling rotate all tokens of a line by other angles once it is long.
bool has_same_angles(const model::Layers& layers, const model::TokenBatch& now, const model::TokenBatch& before) {
  return std::all_of(layers.rotaries.begin(), layers.rotaries.end(), [&](const model::Rotary& rotary) {
    for (std::uint32_t item = 0; item < std::min(now.batch, before.batch); ++item) {
      if (rotary.regime(now.position_count(item)) != rotary.regime(before.position_count(item))) return false;
    }
    return true;
  });
}

StackPlan plan_stack(const PassInputs& now, const PassInputs* before, bool is_decoder, bool is_memory_same) {
  const model::Layers& layers = *now.network->layers;
  const BlockKind kind = is_decoder ? BlockKind::DecoderSelf : BlockKind::EncoderSelf;
  const model::TokenBatch& tokens = is_decoder ? *now.input.target : now.input.source;
  const std::size_t count = is_decoder ? layers.decoder.size() : layers.encoder.size();
  const bool is_causal = !now.input.qkv && is_stack_causal(now, kind);
  StackPlan plan;
  plan.capacity = is_causal ? roomy(tokens.length, tokens.batch) : tokens.length;
  std::uint32_t same = 0, unchanged_layers = 0;
  if (before != nullptr && is_memory_same && !now.input.qkv && !before->input.qkv) {
    const model::TokenBatch& was = is_decoder ? *before->input.target : before->input.source;
    const auto& embedding = is_decoder ? now.network->target_embedding : now.network->source_embedding;
    const auto& old_embedding = is_decoder ? before->network->target_embedding : before->network->source_embedding;
    const std::uint32_t old_capacity = is_stack_causal(*before, kind) ? roomy(was.length, was.batch) : was.length;
    if (embedding != nullptr && embedding == old_embedding && old_capacity == plan.capacity &&
        has_same_angles(layers, tokens, was)) {
      same = first_difference(tokens, was);
      const bool shares_vectors = embedding->dropped_id.has_value();  // each changes with the others' ids
      if ((!is_causal || shares_vectors) && (same != tokens.length || tokens.length != was.length)) same = 0;
      unchanged_layers = first_changed_layer(now, *before, is_decoder);
    }
  }
  plan.embedded = {same, tokens.length - same};
  for (std::uint32_t i = 0; i < count; ++i) {
    plan.layers.push_back(i < unchanged_layers ? plan.embedded : ops::Rows{0, tokens.length});
  }
  return plan;
}

}  // namespace

bool StackPlan::computes_nothing() const {
  return embedded.count == 0 && std::all_of(layers.begin(), layers.end(), [](ops::Rows rows) { return rows.count == 0; });
}

bool PassPlan::computes_nothing() const {
  return encoder.computes_nothing() && decoder.computes_nothing() &&
         std::ranges::all_of(memory, [](ops::Rows rows) { return rows.count == 0; });
}

std::uint32_t PassPlan::reused_tokens() const {
  const StackPlan& last = decoder.layers.empty() ? encoder : decoder;
  return last.embedded.first;
}

std::uint32_t PassPlan::reused_layers() const {
  std::uint32_t reused = 0;
  for (const StackPlan* stack : {&encoder, &decoder}) {
    for (const ops::Rows rows : stack->layers) reused += rows.count == 0 ? 1 : 0;
  }
  return reused;
}

PassPlan plan_pass(const PassInputs& now, const PassInputs* before) {
  if (before != nullptr && before->network->layers != now.network->layers) before = nullptr;
  PassPlan plan;
  plan.encoder = plan_stack(now, before, false, true);
  if (now.network->layers->decoder.empty()) return plan;
  const bool is_memory_same =
      before != nullptr && plan.encoder.computes_nothing() && now.input.source.length == before->input.source.length;
  plan.decoder = plan_stack(now, before, true, is_memory_same);
  for (std::uint32_t i = 0; i < now.network->layers->decoder.size(); ++i) {
    const bool is_kept = before != nullptr && plan.encoder.computes_nothing() &&
                         has_same_keys(now, *before, {BlockKind::Cross, LayerIndex{i}});
    plan.memory.push_back(is_kept ? ops::Rows{} : ops::Rows{0, now.input.source.length});
  }
  return plan;
}

PassPlan plan_copies(const PassInputs& copies) {
  const model::Layers& layers = *copies.network->layers;
  const auto first_changed = [&](std::size_t count, bool is_decoder) {
    auto first = static_cast<std::uint32_t>(count);
    for (const Intervention& one : copies.interventions) {
      const bool is_here = !one.scope.kind || (*one.scope.kind != BlockKind::EncoderSelf) == is_decoder;
      if (one.scope.item && is_here) first = std::min(first, one.scope.layer.value_or(0));
    }
    return first;
  };
  const auto plan_from = [](std::uint32_t length, std::size_t count, std::uint32_t copied) {
    StackPlan plan{.capacity = length, .embedded = {}, .layers = {}, .copied_layers = copied};
    plan.layers.resize(count);
    for (std::size_t layer = copied; layer < count; ++layer) plan.layers[layer] = {0, length};
    return plan;
  };
  PassPlan plan;
  const std::uint32_t of_encoder = first_changed(layers.encoder.size(), false);
  plan.encoder = plan_from(copies.input.source.length, layers.encoder.size(), of_encoder);
  if (layers.decoder.empty()) return plan;
  const bool is_memory_same = of_encoder == layers.encoder.size();
  const std::uint32_t of_decoder = is_memory_same ? first_changed(layers.decoder.size(), true) : 0;
  plan.decoder = plan_from(copies.input.target->length, layers.decoder.size(), of_decoder);
  plan.memory.resize(layers.decoder.size());
  for (std::size_t layer = of_decoder; layer < plan.memory.size(); ++layer) {
    plan.memory[layer] = {0, copies.input.source.length};
  }
  return plan;
}

}  // namespace headlight::inference
