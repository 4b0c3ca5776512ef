#include "app/state/model_changes.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headlight::app {
namespace {

using attention::MaskSpec;

/// "1 head", "3 heads".
std::string counted(std::size_t count, const char* noun) {
  const std::string_view name = noun;
  return fmt::format("{} {}{}", count, name, count == 1 ? "" : name.ends_with('s') ? "es" : "s");
}

std::string limit_text(const char* name, std::uint32_t tokens) {
  return tokens == 0 ? fmt::format("{} off", name) : fmt::format("{} {}", name, tokens);
}

const char* fill_name(attention::MaskFill fill) {
  constexpr std::array<const char*, 3> kNames = {"fill \u2212\u221E", "fill \u22121e9", "fill \u22121e10"};
  return kNames[static_cast<std::size_t>(fill)];
}

void compare(const MaskSpec& now, const MaskSpec& trained, std::vector<std::string>& parts) {
  const auto add = [&](std::string part) {
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(std::move(part));
  };
  const auto on_or_off = [](bool is_on) { return is_on ? "on" : "off"; };
  if (now.rule.causal != trained.rule.causal) add(fmt::format("causal {}", on_or_off(now.rule.causal)));
  if (now.rule.key_padding != trained.rule.key_padding) add(fmt::format("padding {}", on_or_off(now.rule.key_padding)));
  if (now.rule.window != trained.rule.window) add(limit_text("window", now.rule.window));
  if (now.rule.prefix != trained.rule.prefix) add(limit_text("prefix", now.rule.prefix));
  if (now.fill != trained.fill) add(fill_name(now.fill));
  if (now.matrix != trained.matrix) add(now.matrix ? "mask matrix" : "mask matrix removed");
  const auto add_expression = [&](const char* name, bool is_there) {
    add(is_there ? std::string(name) : fmt::format("{} removed", name));
  };
  if (now.mask_expression != trained.mask_expression)
    add_expression("mask expression", static_cast<bool>(now.mask_expression));
  if (now.score_expression != trained.score_expression)
    add_expression("score expression", static_cast<bool>(now.score_expression));
  if (now.painted != trained.painted) {
    const std::size_t count = attention::painted_count(now.painted);
    add(count == 0 ? std::string("paint removed") : counted(count, "cell") + " painted");
  }
  if (now.biases != trained.biases) {
    const std::size_t count = attention::painted_count(now.biases);
    add(count == 0 ? std::string("biases removed") : counted(count, "bias") + " painted");
  }
  if (now.documents != trained.documents) add(now.documents ? "documents apart" : "documents joined");
}

}  // namespace

std::string model_changes(const State& state) {
  std::vector<std::string> parts;
  const auto knocked_out = static_cast<std::size_t>(
      std::ranges::count_if(state.gains, [](const auto& head_and_gain) { return head_and_gain.second == 0.0F; }));
  if (knocked_out > 0) parts.push_back(counted(knocked_out, "head") + " knocked out");
  if (state.gains.size() > knocked_out) parts.push_back(counted(state.gains.size() - knocked_out, "head") + " scaled");
  if (!state.patterns.empty()) parts.push_back(counted(state.patterns.size(), "head") + " replaced");
  if (!state.changes.empty()) parts.push_back(counted(state.changes.size(), "activation") + " kept");
  const attention::MaskSet& trained = trained_masks(state);
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    compare(state.masks.by_kind[kind], trained.by_kind[kind], parts);
  }
  return fmt::format("{}", fmt::join(parts, " \u00B7 "));
}

}  // namespace headlight::app
