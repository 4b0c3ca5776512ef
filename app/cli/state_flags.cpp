#include "app/cli/state_flags.h"

#include <fmt/ranges.h>

#include "app/cli/flags.h"
#include "app/state/usage.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kLargestIndex = 1'000'000;  // clamped to existing layers and heads once a run exists

const std::vector<std::string>& block_names() {
  static const std::vector<std::string> kNames = {"encoder", "decoder", "cross"};
  return kNames;
}

}  // namespace

void StateFlags::add_to(CLI::App& app) {
  const auto add_index = [&](const std::string& flag, const std::string& help, auto set) {
    add_flag(app, flag, "N", help, "What is shown", [this, flag, set](const std::string& text) {
      const auto index = static_cast<std::uint32_t>(parse_integer(flag, text, 0, kLargestIndex));
      edits_.push_back([set, index](State& state) { set(state, index); });
    });
  };
  const auto add_choice = [&](const std::string& flag, const std::vector<std::string>& names, const std::string& help,
                              auto set) {
    add_flag(app, flag, fmt::format("{}", fmt::join(names, "|")), help, "What is shown",
             [this, flag, names, set](const std::string& text) {
               const std::size_t choice = parse_choice(flag, text, names);
               edits_.push_back([set, choice](State& state) { set(state, choice); });
             });
  };
  add_index("--layer", "selected layer, from 0", [](State& state, auto n) { state.selection.block.layer = {n}; });
  add_index("--head", "selected head, from 0", [](State& state, auto n) { state.selection.head = n; });
  add_index("--batch", "selected batch item, from 0", [](State& state, auto n) { state.selection.batch = n; });
  add_choice("--block", block_names(), "kind of the selected attention, in presets that have several",
             [](State& state, std::size_t n) { state.selection.block.kind = static_cast<model::BlockKind>(n); });
  add_choice("--tab", {"head", "steps", "predictions"},
             "the heatmap, the calculation step by step, or what the model expects next",
             [](State& state, std::size_t n) { state.view.tab = static_cast<Tab>(n); });
  add_choice("--stage", {"scores", "scaled", "masked", "weights"}, "what the heatmap shows",
             [](State& state, std::size_t n) {
               constexpr auto kFirst = static_cast<std::size_t>(attention::Stage::Scores);
               state.view.heatmap_stage = static_cast<attention::Stage>(kFirst + n);
             });
  add_choice("--color-map", color_map_names(), "colours of the heatmaps",
             [names = color_map_names()](State& state, std::size_t n) { state.view.color_map = names[n]; });
  add_choice("--theme", {"dark", "light"}, "colours of the window",
             [](State& state, std::size_t n) { state.view.theme = static_cast<Theme>(n); });
}

std::vector<std::string> color_map_names() {
  std::vector<std::string> names;
  for (const view::ColorMap map : view::kColorMaps) {
    if (map != view::ColorMap::BlueRed) names.emplace_back(view::to_string(map));
  }
  return names;
}

void StateFlags::apply(State& state) const {
  for (const auto& edit : edits_) edit(state);
}

}  // namespace headlight::app
