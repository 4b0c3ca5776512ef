#include "app/cli/state_flags.h"

#include <cctype>

#include <fmt/ranges.h>

#include "app/cli/flags.h"
#include "app/state/usage.h"
#include "app/views/view_table.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

constexpr std::uint64_t kLargestIndex = 1'000'000;  // clamped to existing layers and heads once a run exists

const std::vector<std::string>& block_names() {
  static const std::vector<std::string> kNames = {"encoder", "decoder", "cross"};
  return kNames;
}

std::vector<std::string> view_ids() {
  std::vector<std::string> ids;
  for (const View& view : views()) ids.emplace_back(view.id);
  return ids;
}

/// "head: one head's map, large; steps: the attention of one head, …".
std::string view_help() {
  std::vector<std::string> lines;
  for (const View& view : views()) {
    std::string line(view.help.substr(0, view.help.find_last_not_of('.') + 1));
    line.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(line.front())));
    lines.push_back(fmt::format("{}: {}", view.id, line));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
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
  add_choice("--tab", view_ids(), view_help(), [](State& state, std::size_t n) { state.view.tab = views()[n].id; });
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
