#include "app/widgets/cells/shown_mask.h"

#include <fmt/ranges.h>

#include "app/state/mask_json.h"

namespace headlight::app {

ShownMask::ShownMask(const Frame& frame) : selection_(frame.state.selection), chosen_(selected_mask(frame.state)) {
  const model::BlockRef block = selection_.block;
  if (!frame.result.network || !frame.result.shapes.contains(block)) return;
  if (frame.result.capture) {  // masked, if at all, as its file says
    with_window_.emplace();
    with_window_->rule = {.causal = capture::is_causal(*frame.result.capture, block.kind),
                          .window = frame.result.network->layer(block).config.window};
    with_window_->fill = attention::MaskFill::NegativeInfinity;
    return;
  }
  const model::AttentionConfig& config = frame.result.network->layer(block).config;
  if (config.window > 0) with_window_ = attention::in_layer(chosen_, config);
  if (chosen_.has_expressions() && frame.result.input)
    tokens_.emplace(*frame.result.network, *frame.result.input, block.kind, chosen_);
}

attention::ExpressionMap ShownMask::map() const {
  const std::uint32_t layer = selection_.block.layer.value;
  return tokens_ ? tokens_->map(layer, selection_.batch, selection_.head)
                 : attention::ExpressionMap{.layer = layer, .head = selection_.head};
}

std::string mask_reason(const attention::MaskSpec& mask, const CellInMap& where) {
  const auto [query, key] = where.cell;
  if (mask.is_visible(where.map, where.batch, where.cell, where.keys)) {
    const attention::KeyRange keys = mask.rule.key_padding || where.map.keys == 0 ? where.keys : where.map.keys;
    if (!where.pattern || attention::shows(*where.pattern, query, key, keys)) return {};
    return fmt::format("pattern ({})", attention::to_string(where.pattern->kind));
  }
  if (mask.painted_state(where.map.layer, where.batch, where.map.head, where.cell)) return "paint";

  const attention::MaskRule& rule = mask.rule;
  std::vector<std::string> causes;
  if (key >= rule.prefix) {
    if (key > query && rule.causal) causes.emplace_back("causal rule");
    if (key > query && !rule.causal && rule.prefix > 0) causes.push_back(fmt::format("prefix of {}", rule.prefix));
    const std::uint32_t distance = query > key ? query - key : key - query;
    if (rule.window > 0 && distance >= rule.window) causes.push_back(fmt::format("window of {}", rule.window));
  }
  if (rule.key_padding && !where.keys.holds(key)) causes.emplace_back("padding");
  if (!mask.is_same_document(where.batch, query, key)) causes.emplace_back("another document");
  if (mask.matrix && !mask.matrix->is_kept(where.batch, where.map.head, query, key)) causes.emplace_back("mask matrix");
  if (!mask.mask_expression.shows(where.map, query, key, mask.sliders)) causes.emplace_back("mask expression");
  return causes.empty() ? "mask" : fmt::format("{}", fmt::join(causes, " and "));
}

std::string mask_summary(const attention::MaskSpec& mask, bool has_padding) {
  std::vector<std::string> parts;
  if (mask.rule.causal) parts.emplace_back("causal");
  if (mask.rule.window > 0) parts.push_back(fmt::format("window {}", mask.rule.window));
  if (mask.rule.prefix > 0) parts.push_back(fmt::format("prefix {}", mask.rule.prefix));
  if (mask.rule.key_padding && has_padding) parts.emplace_back("padding");
  for (const MaskPart& part : mask_parts()) {
    if (part.is_set(mask) && *part.short_name != '\0') parts.emplace_back(part.short_name);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace headlight::app
