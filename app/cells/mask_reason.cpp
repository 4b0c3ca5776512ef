#include <fmt/ranges.h>

#include "app/cells/shown_mask.h"

#include "app/state/mask_json.h"

namespace headlight::app {

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
