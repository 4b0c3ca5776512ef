#include "inference/reference_run.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "inference/prompt.h"

namespace headlight::inference {
namespace {

using model::reference::Array;

/// A head of a site of a block.
struct HeadPlace {
  model::BlockRef block;
  model::Site site = model::Site::HeadOutput;
  std::uint32_t head = 0;
};

/// One batch item's rows [token, width] of the reference, and which of them are real.
struct ReferenceRows {
  HeadPlace place;
  std::uint32_t item = 0;
  std::span<double> values;
  std::size_t width = 0;
  std::size_t begin = 0, end = 0;

  std::span<double> row(std::size_t token) const { return values.subspan(token * width, width); }
  std::size_t count() const { return values.size() / width; }
};

void apply(const Scale& scale, const ReferenceRows& rows) {
  for (double& value : rows.values) value *= static_cast<double>(scale.gain);
}

void apply(const Add& add, const ReferenceRows& rows) {
  for (std::size_t token = 0; token < rows.count(); ++token) {
    for (std::size_t i = 0; i < rows.width; ++i) rows.row(token)[i] += static_cast<double>(add.vector[i]);
  }
}

void apply(const Average&, const ReferenceRows& rows) {
  std::vector<double> mean(rows.width);
  for (std::size_t token = rows.begin; token < rows.end; ++token) {
    for (std::size_t i = 0; i < rows.width; ++i) mean[i] += rows.row(token)[i] / static_cast<double>(rows.end - rows.begin);
  }
  for (std::size_t token = rows.begin; token < rows.end; ++token) std::ranges::copy(mean, rows.row(token).begin());
}

void apply(const Replace& replace, const ReferenceRows& rows) {
  if (replace.item != rows.item) return;
  const std::size_t given = replace.rows.size() / rows.width;
  for (std::size_t token = replace.first; token < std::min(replace.first + given, rows.count()); ++token) {
    const auto from = replace.rows.begin() + static_cast<std::ptrdiff_t>((token - replace.first) * rows.width);
    std::copy_n(from, rows.width, rows.row(token).begin());
  }
}

void apply(const ReplacePattern& replaced, const ReferenceRows& rows) {
  if (replaced.pattern.kind == attention::FixedPattern::Uniform) std::ranges::fill(rows.values, 0.0);
}

void apply(const Dropout& dropout, const ReferenceRows& rows) {
  const auto& [block, site, head] = rows.place;
  if (site == model::Site::Weights || dropout.probability == 0.0f) return;
  const attention::DropoutPlan plan = attention::dropout_plan(dropout.probability, dropout.seed, site, block);
  for (std::uint32_t token = 0; token < rows.count(); ++token) {
    for (std::uint32_t i = 0; i < rows.width; ++i) {
      rows.row(token)[i] *= static_cast<double>(plan.factor_of(rows.item, head, token, i));
    }
  }
}

/// The operation on one head of an array [batch, head, token, d], in place. `tokens`: of its rows; `only`: the one batch
/// item whose head it is, else every item's.
void edit_head(const Operation& operation, Array& values, const HeadPlace& place, const model::TokenBatch& tokens,
               std::optional<std::uint32_t> only) {
  const std::size_t heads = values.shape[1], count = values.shape[2], width = values.shape[3];
  for (std::uint32_t item = 0; item < values.shape[0]; ++item) {
    if (only.value_or(item) != item) continue;
    const std::size_t first = (std::size_t{item} * heads + place.head) * count * width;
    const ReferenceRows rows{.place = place,
                             .item = item,
                             .values = std::span(values.values).subspan(first, count * width),
                             .width = width,
                             .begin = tokens.start(item),
                             .end = tokens.start(item) + tokens.lengths[item]};
    std::visit([&](const auto& one) { apply(one, rows); }, operation);
  }
}

/// The tokens that the masks' expressions read, made once for each kind of attention.
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
  std::map<model::BlockKind, MaskTokens> by_kind_;
};

bool replaces_patterns(const Interventions& interventions) {
  return std::ranges::any_of(interventions,
                             [](const Intervention& one) { return std::holds_alternative<ReplacePattern>(one.operation); });
}

using Stages = model::reference::AttentionStages;
/// The array of each stage, indexed by attention::Stage.
constexpr std::array<Array Stages::*, attention::kStages> kStageArrays = {&Stages::residual,
                                                                          &Stages::x,
                                                                          &Stages::q,
                                                                          &Stages::k,
                                                                          &Stages::v,
                                                                          &Stages::scores,
                                                                          &Stages::content_position,
                                                                          &Stages::position_content,
                                                                          &Stages::scaled,
                                                                          &Stages::masked,
                                                                          &Stages::weights,
                                                                          &Stages::heads,
                                                                          &Stages::merged,
                                                                          &Stages::output,
                                                                          &Stages::attention_sum,
                                                                          &Stages::attended,
                                                                          &Stages::ffn_input,
                                                                          &Stages::router,
                                                                          &Stages::gates,
                                                                          &Stages::ffn_gate,
                                                                          &Stages::ffn_hidden,
                                                                          &Stages::ffn_active,
                                                                          &Stages::ffn_output,
                                                                          &Stages::ffn_sum,
                                                                          &Stages::next};

}  // namespace

const Array& stage_of(const Stages& stages, attention::Stage stage) {
  return stages.*kStageArrays[static_cast<std::size_t>(stage)];
}

model::reference::Visibility reference_visibility(const attention::MaskSet& masks, const model::Network& network,
                                                  const model::ModelInput& input) {
  const auto tokens = std::make_shared<const TokensByKind>(masks, network, input);
  return [&masks, &input, tokens](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                                  std::uint32_t key) {
    const model::TokenBatch& of_keys = input.keys(block.kind);
    const attention::KeyRange keys{of_keys.start(batch), of_keys.start(batch) + of_keys.lengths[batch]};
    const attention::MaskSpec& mask = masks[block.kind];
    return mask.mask_expression ? mask.is_visible(tokens->map(block, batch, head), batch, {query, key}, keys)
                                : mask.is_visible(block.layer.value, batch, head, query, key, keys);
  };
}

model::reference::ScoreEdit reference_scores(const attention::MaskSet& masks, const model::Network& network,
                                             const model::ModelInput& input) {
  const auto changes_scores = [](const attention::MaskSpec& mask) { return mask.score_expression || !mask.biases.empty(); };
  if (std::ranges::none_of(masks.by_kind, changes_scores)) return {};
  const auto tokens = std::make_shared<const TokensByKind>(masks, network, input);
  return [&masks, tokens](model::BlockRef block, std::uint32_t batch, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key, double score) {
    return masks[block.kind].score(tokens->map(block, batch, head), batch, {query, key}, score);
  };
}

model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input) {
  if (interventions.empty()) return {};
  return [&interventions, &input](model::BlockRef block, model::Site site, Array& values) {
    const bool is_of_keys = site == model::Site::Key || site == model::Site::Value;
    const model::TokenBatch& tokens = is_of_keys ? input.keys(block.kind) : input.queries(block.kind);
    for (const Intervention& one : interventions) {
      if (one.site != site || !one.scope.covers(block)) continue;
      for (std::uint32_t head = 0; head < values.shape[1]; ++head) {
        if (one.scope.head.value_or(head) == head)
          edit_head(one.operation, values, {block, site, head}, tokens, one.scope.item);
      }
    }
  };
}

model::reference::Visibility reference_visibility(const Interventions& interventions, const model::ModelInput& input,
                                                  const attention::MaskSet& masks, model::reference::Visibility is_visible) {
  if (!replaces_patterns(interventions)) return is_visible;
  return [&interventions, &input, &masks, is_visible = std::move(is_visible)](
             model::BlockRef block, std::uint32_t item, std::uint32_t head, std::uint32_t query, std::uint32_t key) {
    const auto patterns = patterns_of(interventions, block, head + 1);
    const model::TokenBatch& tokens = input.keys(block.kind);
    attention::KeyRange keys = tokens.length;
    if (masks[block.kind].rule.key_padding) keys = {tokens.start(item), tokens.start(item) + tokens.lengths[item]};
    const bool is_of_pattern = patterns.empty() || !patterns[head] || attention::shows(*patterns[head], query, key, keys);
    return is_of_pattern && is_visible(block, item, head, query, key);
  };
}

model::reference::ScoreEdit reference_scores(const Interventions& interventions, model::reference::ScoreEdit edit) {
  if (!replaces_patterns(interventions)) return edit;
  return [&interventions, edit = std::move(edit)](model::BlockRef block, std::uint32_t item, std::uint32_t head,
                                                  std::uint32_t query, std::uint32_t key, double score) {
    const auto patterns = patterns_of(interventions, block, head + 1);
    const double edited = edit ? edit(block, item, head, query, key, score) : score;
    return patterns.empty() || !patterns[head] ? edited : attention::score_of(*patterns[head], {query, key}, edited);
  };
}

model::reference::ScoreEdit reference_weights(const Interventions& interventions) {
  const auto drops = [](const Intervention& one) { return std::holds_alternative<Dropout>(one.operation); };
  if (std::ranges::none_of(interventions, drops)) return {};
  return [&interventions](model::BlockRef block, std::uint32_t item, std::uint32_t head, std::uint32_t query,
                          std::uint32_t key, double weight) {
    const std::optional<attention::DropoutPlan> plan = weight_dropout(interventions, block);
    return plan ? weight * static_cast<double>(plan->factor_of(item, head, query, key)) : weight;
  };
}

}  // namespace headlight::inference
