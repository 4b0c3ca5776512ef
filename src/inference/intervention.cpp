#include "inference/intervention.h"

#include <algorithm>
#include <cmath>

#include "attention/layer_graph.h"
#include "core/error.h"
#include "inference/apply_operation.h"

namespace headlight::inference {
namespace {

using model::Site;

/// Heads of a site's tensor and numbers of a head's row.
struct SiteSize {
  std::uint32_t heads = 0, width = 0;
};

/// Returns the size of a site; none where the layer has no such site. The width of the weights is 0: they are not
/// stored.
std::optional<SiteSize> size_of(Site site, const model::AttentionLayer& layer) {
  // The layer's input is a site also where nothing is added to it.
  const attention::Stage stage = site == Site::Residual ? attention::Stage::X : attention::stage_of(site);
  const attention::LayerGraph graph({}, layer);
  const attention::LayerNode* node = graph.find(stage);
  if (node == nullptr) return std::nullopt;
  return SiteSize{attention::shape_of(layer, 1, 1, 1).matrices(stage), site == Site::Weights ? 0 : node->extent.columns};
}

bool changes_nothing(const Operation& operation) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.changes_nothing(); }) return one.changes_nothing();
        return false;
      },
      operation);
}

/// Why the intervention is impossible, or an empty text.
std::string complaint(const Intervention& one, const SiteSize& size) {
  const bool is_pattern = std::holds_alternative<ReplacePattern>(one.operation);
  if (one.scope.head.value_or(0) >= size.heads)
    return fmt::format("there is no head {} among {}", *one.scope.head, size.heads);
  if (is_pattern && one.scope.item) return "a pattern replaces the weights of every batch item, not of one";
  if (is_pattern && one.site != Site::Weights) return "a pattern can replace weights alone";
  const bool is_dropout = std::holds_alternative<Dropout>(one.operation);
  if (!is_pattern && !is_dropout && one.site == Site::Weights)
    return "weights can be replaced by a pattern or dropped out alone";
  if (is_dropout && one.site == Site::Weights && (one.scope.head || one.scope.item))
    return "dropout of weights is of all heads and batch items, not of one";
  return complaint(one.operation, size.width);
}

/// Returns operation(choice) at the site for each head that has a choice; heads that the network doesn't have are left
/// out.
template <typename Choices, typename MakeOperation>
Interventions of_heads(const Choices& choices, const model::Network& network, Site site, const MakeOperation& make) {
  Interventions result;
  for (const model::BlockRef block : network.blocks()) {
    const std::uint32_t heads = network.layer(block).config.heads;
    for (auto one = choices.lower_bound({block, 0}); one != choices.end() && one->first.first == block; ++one) {
      const std::uint32_t head = one->first.second;
      if (head < heads) result.push_back({site, scope_of(block, head), make(one->second)});
    }
  }
  return result;
}

}  // namespace

bool Scope::covers(model::BlockRef block) const {
  return (!kind || *kind == block.kind) && (!layer || *layer == block.layer.value);
}

Scope scope_of(model::BlockRef block, std::uint32_t head) {
  return {.kind = block.kind, .layer = block.layer.value, .head = head};
}

void check(const model::Network& network, std::span<const Intervention> interventions) {
  for (std::size_t i = 0; i < interventions.size(); ++i) {
    const Intervention& one = interventions[i];
    bool has_block = false;
    for (const model::BlockRef block : network.blocks()) {
      if (!one.scope.covers(block)) continue;
      const std::optional<SiteSize> size = size_of(one.site, network.layer(block));
      if (!size) continue;
      has_block = true;
      const std::string why = complaint(one, *size);
      if (why.empty()) continue;
      throw Error(ErrorKind::InvalidInput, "intervention {} on the {} of the {} attention in layer {}: {}", i + 1,
                  to_string(one.site), to_string(block.kind), block.layer.value, why);
    }
    if (!has_block) {
      throw Error(ErrorKind::InvalidInput, "intervention {} on the {}: the network has no {} attention{}{}", i + 1,
                  to_string(one.site), one.scope.kind ? to_string(*one.scope.kind) : "such",
                  one.scope.layer ? fmt::format(" in layer {}", *one.scope.layer) : "",
                  model::has_heads(one.site) ? "" : " with one");
    }
  }
}

bool is_of_item(const Intervention& intervention) {
  return std::visit(
      [](const auto& one) {
        return requires { one.kIsOfItem; };
      },
      intervention.operation);
}

std::uint32_t site_width(const model::Network& network, const Intervention& intervention) {
  for (const model::BlockRef block : network.blocks()) {
    if (!intervention.scope.covers(block)) continue;
    if (const std::optional<SiteSize> size = size_of(intervention.site, network.layer(block))) return size->width;
  }
  return 0;
}

bool fits(const model::Network& network, const Intervention& intervention) {
  try {
    check(network, std::span(&intervention, 1));
  } catch (const Error&) {
    return false;
  }
  return true;
}

Interventions of_block(std::span<const Intervention> interventions, model::BlockRef block) {
  Interventions result;
  for (const Intervention& one : interventions) {
    if (!one.scope.covers(block) || changes_nothing(one.operation)) continue;
    Intervention& narrowed = result.emplace_back(one);
    narrowed.scope.kind = block.kind;
    narrowed.scope.layer = block.layer.value;
  }
  return result;
}

bool mixes_tokens(std::span<const Intervention> interventions, model::BlockKind kind) {
  return std::ranges::any_of(interventions, [&](const Intervention& one) {
    return std::holds_alternative<Average>(one.operation) && one.scope.kind.value_or(kind) == kind;
  });
}

std::vector<std::optional<attention::ReplacementPattern>> patterns_of(std::span<const Intervention> interventions,
                                                                      model::BlockRef block, std::uint32_t heads) {
  std::vector<std::optional<attention::ReplacementPattern>> patterns;
  for (const Intervention& one : interventions) {
    const auto* replaced = std::get_if<ReplacePattern>(&one.operation);
    if (replaced == nullptr || !one.scope.covers(block)) continue;
    patterns.resize(heads);
    for (std::uint32_t head = 0; head < heads; ++head) {
      if (one.scope.head.value_or(head) == head) patterns[head] = replaced->pattern;
    }
  }
  return patterns;
}

std::optional<attention::DropoutPlan> weight_dropout(std::span<const Intervention> interventions, model::BlockRef block) {
  std::optional<attention::DropoutPlan> plan;
  for (const Intervention& one : interventions) {
    const auto* dropout = std::get_if<Dropout>(&one.operation);
    if (dropout == nullptr || one.site != Site::Weights || !one.scope.covers(block) || changes_nothing(one.operation))
      continue;
    plan = attention::dropout_plan(dropout->probability, dropout->seed, one.site, block);
  }
  return plan;
}

Interventions interventions_of(const HeadGains& gains, const model::Network& network) {
  return of_heads(gains, network, Site::HeadOutput, [](float gain) { return Scale{gain}; });
}

Interventions interventions_of(const FixedPatterns& patterns, const model::Network& network) {
  return of_heads(patterns, network, Site::Weights, [](const auto& pattern) { return ReplacePattern{pattern}; });
}

}  // namespace headlight::inference
