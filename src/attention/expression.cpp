#include "attention/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/expression_tree.h"

namespace headlight::attention {

namespace {

double value_in_cell(const ExpressionTree& tree, const ExpressionCell& cell, const SliderValues& sliders) {
  std::array<double, Expression::kMaxNodes> values = {};
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const ExpressionNode& node = tree.nodes[at];
    const auto argument = [&](std::size_t index) { return values[node.arguments.at(index)]; };
    switch (node.operation) {
      case Operation::Literal:
        values[at] = node.literal;
        break;
      case Operation::Name:
        values[at] = expression_names()[node.index].value(cell);
        break;
      case Operation::Slider:
        values[at] = static_cast<double>(value_of(tree.sliders[node.index], sliders));
        break;
      case Operation::Convert:
        values[at] = convert(node.type, tree.nodes[node.arguments[0]].type, argument(0));
        break;
      default:  // of node 0 where the operation has fewer arguments
        values[at] = form_of(node.operation).value({node.type, argument(0), argument(1), argument(2)});
    }
  }
  return values[tree.nodes.size() - 1];
}

}  // namespace

std::string to_string(const ExpressionError& error) { return fmt::format("column {}: {}", error.column, error.message); }

float value_of(const Slider& slider, const SliderValues& values) {
  const auto found = values.find(slider.name);
  const float value = found == values.end() ? slider.start : std::clamp(found->second, slider.from, slider.to);
  return std::abs(value) < std::numeric_limits<float>::min() ? 0.0f : value;  // as numbers in the text
}

bool ExpressionTree::uses(Name name) const {
  return std::ranges::any_of(nodes, [&](const ExpressionNode& node) {
    return node.operation == Operation::Name && node.index == static_cast<std::uint8_t>(name);
  });
}

std::span<const Slider> Expression::sliders() const {
  return tree_ ? std::span<const Slider>(tree_->sliders) : std::span<const Slider>();
}

ExpressionNeeds Expression::needs() const {
  if (!tree_) return {};
  return {.layer = tree_->uses(Name::Layer),
          .head = tree_->uses(Name::Head),
          .text_length = tree_->uses(Name::Queries) || tree_->uses(Name::Keys),
          .ids = tree_->uses(Name::QueryId) || tree_->uses(Name::KeyId),
          .types = tree_->uses(Name::QueryType) || tree_->uses(Name::KeyType),
          .segments = tree_->uses(Name::QuerySegment) || tree_->uses(Name::KeySegment)};
}

bool Expression::shows(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, const SliderValues& values) const {
  return !tree_ || value_in_cell(*tree_, {map, query, key, 0.0}, values) != 0.0;
}

double Expression::score(const ExpressionMap& map, std::uint32_t query, std::uint32_t key, double score,
                         const SliderValues& values) const {
  if (!tree_) return score;
  return std::clamp(value_in_cell(*tree_, {map, query, key, score}, values), -kMaxScore, kMaxScore);
}

std::span<const ExpressionPreset> expression_presets() {
  using Use = ExpressionUse;
  static constexpr std::array kPresets{
      ExpressionPreset{"Sliding window", Use::Mask, "abs(q - k) < slider(width, 1, 256, 16)",
                       "A query sees keys that are less than so many tokens away (Longformer, Beltagy et al. 2020)."},
      ExpressionPreset{"Dilated window", Use::Mask,
                       "abs(q - k) < slider(width, 1, 256, 16) && (q - k) % int(slider(stride, 1, 8, 2)) == 0",
                       "Of a window, every second or third key (Longformer, Beltagy et al. 2020)."},
      ExpressionPreset{"Prefix-LM", Use::Mask, "k <= q || k < slider(prefix, 0, 64, 4)",
                       "All queries see the first tokens, and after these only keys up to their own position (T5's prefix "
                       "language model, Raffel et al. 2020). Switches the causal rule off.",
                       true},
      ExpressionPreset{"Documents", Use::Mask, "segment_q == segment_k",
                       "A query sees keys of its own document: [SEP], </s> or <|endoftext|> ends one."},
      ExpressionPreset{"Attention sinks", Use::Mask, "k < slider(sinks, 0, 16, 4) || abs(q - k) < slider(width, 1, 256, 16)",
                       "The first tokens and a window (StreamingLLM, Xiao et al. 2023)."},
      ExpressionPreset{"ALiBi", Use::Score, "score - exp2(-8.0 * float(head + 1) / float(n_heads)) * float(abs(q - k))",
                       "Each head takes off more the further away a key is, by a slope of its own (Press et al. 2022)."},
      ExpressionPreset{"Soft cap", Use::Score, "slider(cap, 1, 100, 30) * tanh(score / cap)",
                       "Keeps scores between \u2212cap and cap (Gemma 2)."},
      ExpressionPreset{"Temperature", Use::Score, "score / slider(temperature, 0.1, 10, 1)",
                       "Below 1 rows become sharper, above 1 flatter."},
  };
  return kPresets;
}

}  // namespace headlight::attention
