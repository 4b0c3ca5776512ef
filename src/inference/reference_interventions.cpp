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
                             .end = tokens.end(item)};
    std::visit([&](const auto& one) { apply(one, rows); }, operation);
  }
}

/// The masks of the network's layers, which differ where layers have windows, and the tokens that their expressions read.
class LayerMasks {
 public:
  LayerMasks(const attention::MaskSet& masks, const model::Network& network, const model::ModelInput& input) {
    for (const model::BlockRef block : network.blocks()) {
      const model::AttentionConfig& config = network.layer(block).config;
      const auto [found, is_new] = by_window_.try_emplace({block.kind, config.window});
      if (is_new) found->second = in_layer(masks[block.kind], config);
      by_block_.emplace(block, &found->second);
      tokens_.try_emplace(block.kind, network, input, block.kind, masks[block.kind]);
    }
  }
  const attention::MaskSpec& of(model::BlockRef block) const { return *by_block_.at(block); }
  attention::ExpressionMap map(model::BlockRef block, std::uint32_t batch, std::uint32_t head) const {
    return tokens_.at(block.kind).map(block.layer.value, batch, head);
  }

 private:
  std::map<std::pair<model::BlockKind, std::uint32_t>, attention::MaskSpec> by_window_;
  std::map<model::BlockRef, const attention::MaskSpec*> by_block_;
  std::map<model::BlockKind, MaskTokens> tokens_;
};

template <typename Op>
bool has(const Interventions& interventions) {
  return std::ranges::any_of(interventions,
                             [](const Intervention& one) { return std::holds_alternative<Op>(one.operation); });
}

std::optional<attention::ReplacementPattern> pattern_of(const Interventions& interventions, model::BlockRef block,
                                                        std::uint32_t head) {
  const auto patterns = patterns_of(interventions, block, head + 1);
  return patterns.empty() ? std::nullopt : patterns[head];
}

}  // namespace

model::reference::SiteEdit reference_edit(const Interventions& interventions, const model::ModelInput& input) {
  if (interventions.empty()) return {};
  return [&interventions, &input](model::BlockRef block, model::Site site, Array& values) {
    const model::TokenBatch& tokens = input.tokens(block.kind, site);
    for (const Intervention& one : interventions) {
      if (one.site != site || !one.scope.covers(block)) continue;
      for (std::uint32_t head = 0; head < values.shape[1]; ++head) {
        if (one.scope.head.value_or(head) == head)
          edit_head(one.operation, values, {block, site, head}, tokens, one.scope.item);
      }
    }
  };
}

model::reference::PassRules reference_rules(const model::Network& network, const model::ModelInput& input,
                                            const attention::MaskSet& masks, const Interventions& interventions) {
  model::reference::PassRules rules;
  const auto layers = std::make_shared<const LayerMasks>(masks, network, input);
  const bool has_patterns = has<ReplacePattern>(interventions);
  rules.is_visible = [&interventions, &input, layers, has_patterns](model::BlockRef block, std::uint32_t item,
                                                                    std::uint32_t head, std::uint32_t query,
                                                                    std::uint32_t key) {
    const model::TokenBatch& tokens = input.keys(block.kind);
    const attention::KeyRange keys{tokens.start(item), tokens.end(item)};
    const attention::MaskSpec& mask = layers->of(block);
    if (has_patterns) {
      const auto pattern = pattern_of(interventions, block, head);
      const attention::KeyRange of_pattern = mask.rule.key_padding ? keys : attention::KeyRange(tokens.length);
      if (pattern && !attention::shows(*pattern, query, key, of_pattern)) return false;
    }
    return mask.mask_expression ? mask.is_visible(layers->map(block, item, head), item, {query, key}, keys)
                                : mask.is_visible(block.layer.value, item, head, query, key, keys);
  };
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    rules.fills[kind] = static_cast<double>(attention::fill_value(masks.by_kind[kind].fill));
  }
  rules.edit = reference_edit(interventions, input);
  const auto changes_scores = [](const attention::MaskSpec& mask) { return mask.score_expression || !mask.biases.empty(); };
  const bool has_scores = std::ranges::any_of(masks.by_kind, changes_scores);
  if (has_scores || has_patterns) {
    rules.score = [&interventions, layers, has_scores, has_patterns](model::BlockRef block, std::uint32_t item,
                                                                     std::uint32_t head, std::uint32_t query,
                                                                     std::uint32_t key, double score) {
      if (has_scores) score = layers->of(block).score(layers->map(block, item, head), item, {query, key}, score);
      const auto pattern = has_patterns ? pattern_of(interventions, block, head) : std::nullopt;
      return pattern ? attention::score_of(*pattern, {query, key}, score) : score;
    };
  }
  if (has<Dropout>(interventions)) {
    rules.weight = [&interventions](model::BlockRef block, std::uint32_t item, std::uint32_t head, std::uint32_t query,
                                    std::uint32_t key, double weight) {
      const std::optional<attention::DropoutPlan> plan = weight_dropout(interventions, block);
      return plan ? weight * static_cast<double>(plan->factor_of(item, head, query, key)) : weight;
    };
  }
  return rules;
}

}  // namespace headlight::inference
