#include "panels/mask_reason.h"

#include <vector>

#include <fmt/format.h>

namespace headlight::app {

std::string mask_reason(const attention::MaskSpec& mask, const MapCell& where) {
  const auto [query, key] = where.cell;
  if (mask.is_visible(where.layer, where.batch, where.head, query, key, where.key_length)) return {};
  if (mask.painted_state(where.layer, where.batch, where.head, where.cell)) return "paint";

  const attention::MaskRule& rule = mask.rule;
  std::vector<std::string> causes;
  if (key >= rule.prefix) {
    if (key > query && rule.causal) causes.emplace_back("causal rule");
    if (key > query && !rule.causal && rule.prefix > 0) causes.push_back(fmt::format("prefix of {}", rule.prefix));
    const std::uint32_t distance = query > key ? query - key : key - query;
    if (rule.window > 0 && distance >= rule.window) causes.push_back(fmt::format("window of {}", rule.window));
  }
  if (rule.key_padding && key >= where.key_length) causes.emplace_back("padding");
  if (mask.matrix && !mask.matrix->is_kept(where.batch, where.head, query, key)) causes.emplace_back("mask matrix");
  return causes.empty() ? "mask" : fmt::format("{}", fmt::join(causes, " and "));
}

}  // namespace headlight::app
