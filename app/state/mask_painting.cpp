#include "app/state/mask_painting.h"

#include <iterator>

#include "app/state/map_settings.h"
#include "core/error.h"

namespace headlight::app {
namespace {

using attention::Cell;
using attention::PaintScope;

/// Does the scope `wide` include every map of `narrow`?
bool covers(const PaintScope& wide, const PaintScope& narrow) {
  const auto axis_covers = [](const auto& outer, const auto& inner) { return !outer || outer == inner; };
  return axis_covers(wide.layer, narrow.layer) && axis_covers(wide.batch, narrow.batch) &&
         axis_covers(wide.head, narrow.head);
}

/// Returns the scopes that the brush reaches; several where no single one names the layers.
std::vector<PaintScope> paint_scopes(const State& state, const PaintedMap& map) {
  const Selection& selection = state.selection;
  const std::uint32_t layer = selection.block.layer.value;
  switch (state[kBrush.reach]) {
    case PaintReach::ThisHead:
      return {{.layer = layer, .batch = selection.batch, .head = selection.head}};
    case PaintReach::ThisLayer:
      return {{.layer = layer, .batch = selection.batch, .head = std::nullopt}};
    case PaintReach::LaterLayers: {
      std::vector<PaintScope> scopes;
      for (std::uint32_t later = layer; later < std::max(map.layers, layer + 1); ++later) {
        scopes.push_back({.layer = later, .batch = selection.batch, .head = std::nullopt});
      }
      return scopes;
    }
    case PaintReach::AllLayers:
      break;
  }
  return {{.layer = std::nullopt, .batch = selection.batch, .head = std::nullopt}};
}

/// Takes the cells out of the paint of every scope that `is_meant` says.
template <typename Paint, typename IsMeant>
void erase_in(attention::PaintByScope<Paint>& painted, const std::vector<Cell>& cells, const IsMeant& is_meant) {
  for (auto one = painted.begin(); one != painted.end();) {
    if (is_meant(one->first)) one->second.erase(cells);
    one = one->second.empty() ? painted.erase(one) : std::next(one);
  }
}

/// Does a scope include the selected map, or is it part of the paint scope?
auto concerns_shown(const State& state, const PaintedMap& map) {
  const Selection& selection = state.selection;
  const PaintScope shown{.layer = selection.block.layer.value, .batch = selection.batch, .head = selection.head};
  return [shown, scopes = paint_scopes(state, map)](const PaintScope& painted) {
    return covers(painted, shown) ||
           std::ranges::any_of(scopes, [&](const PaintScope& scope) { return covers(scope, painted); });
  };
}

void paint_scope(State& state, const PaintScope& scope, const std::vector<Cell>& cells, bool is_visible,
                 const PaintedMap& map) {
  attention::MaskSpec& mask = selected_mask(state);
  // A wider brush replaces narrower paint in the same maps.
  erase_in(mask.painted, cells, [&](const PaintScope& painted) { return covers(scope, painted); });
  const Selection& selection = state.selection;
  // Paint that changes nothing in this map stays where the other maps of the scope may differ.
  const bool maps_differ =
      (mask.matrix && mask.matrix->heads > 1 && !scope.head) || map.has_trained_window || mask.mask_expression;
  const std::uint32_t layer = scope.layer.value_or(selection.block.layer.value);
  std::vector<attention::PaintedCell> changes;
  for (const Cell cell : cells) {
    const bool is_visible_unpainted =
        mask.is_visible(layer, selection.batch, selection.head, cell.query, cell.key, map.keys);
    if (maps_differ || is_visible_unpainted != is_visible) changes.emplace_back(cell, is_visible);
  }
  if (changes.size() == 1) {
    mask.painted[scope].paint(changes.front().first, is_visible);
  } else if (!changes.empty()) {
    mask.painted[scope].paint(changes);
  }
}

}  // namespace

std::vector<Cell> brush_cells(BrushShape shape, Cell from, Cell at, const PaintedMap& map) {
  std::vector<Cell> cells;
  switch (shape) {
    case BrushShape::Cell:
      return {at};
    case BrushShape::Row:
      for (std::uint32_t key = 0; key < map.columns; ++key) cells.push_back({at.query, key});
      return cells;
    case BrushShape::Column:
      for (std::uint32_t query = 0; query < map.rows; ++query) cells.push_back({query, at.key});
      return cells;
    case BrushShape::Diagonal:
      for (std::uint32_t query = at.query - std::min(at.query, at.key); query < map.rows; ++query) {
        const std::uint32_t key = query + at.key - at.query;
        if (key < map.columns) cells.push_back({query, key});
      }
      return cells;
    case BrushShape::Rectangle:
      break;
  }
  const auto [top, bottom] = std::minmax(from.query, at.query);
  const auto [left, right] = std::minmax(from.key, at.key);
  const std::size_t count = (std::size_t{bottom} - top + 1) * (right - left + 1);
  if (count > kMaxPaintedAtOnce) {
    throw Error("a rectangle of {} cells is too large to paint; write a mask expression such as q < {} || k > {}", count,
                top, right);
  }
  for (std::uint32_t query = top; query <= bottom; ++query) {
    for (std::uint32_t key = left; key <= right; ++key) cells.push_back({query, key});
  }
  return cells;
}

void paint(State& state, std::span<const Cell> cells, bool is_visible, const PaintedMap& map) {
  const std::vector<Cell> changed(cells.begin(), cells.end());
  for (const PaintScope& scope : paint_scopes(state, map)) paint_scope(state, scope, changed, is_visible, map);
}

void paint(State& state, Cell cell, bool is_visible, const PaintedMap& map) {
  paint(state, std::span(&cell, 1), is_visible, map);
}

void paint_bias(State& state, const std::vector<Cell>& cells, std::optional<float> bias, const PaintedMap& map) {
  attention::PaintedBiases& biases = selected_mask(state).biases;
  if (bias.value_or(0.0f) == 0.0f) return erase_in(biases, cells, concerns_shown(state, map));
  std::vector<attention::Painted<float>> painted;
  painted.reserve(cells.size());
  for (const Cell cell : cells) painted.emplace_back(cell, *bias);
  for (const PaintScope& scope : paint_scopes(state, map)) {
    // A wider brush replaces narrower biases of the same maps.
    erase_in(biases, cells, [&](const PaintScope& other) { return covers(scope, other); });
    biases[scope].paint(painted);
  }
}

void paint_pattern(State& state, const std::vector<Cell>& cells, std::optional<float> weight) {
  const std::pair head(state.selection.block, state.selection.head);
  attention::ReplacementPattern pattern(attention::FixedPattern::Painted);
  const auto known = state.patterns.find(head);
  if (known != state.patterns.end() && known->second.kind == attention::FixedPattern::Painted) pattern = known->second;
  if (weight) {
    std::vector<attention::Painted<float>> painted;
    painted.reserve(cells.size());
    for (const Cell cell : cells) painted.emplace_back(cell, *weight);
    pattern.weights.paint(painted);
  } else {
    pattern.weights.erase(cells);
  }
  if (pattern.weights.empty()) {
    state.patterns.erase(head);
  } else {
    state.patterns[head] = std::move(pattern);
  }
}

void put_ink(State& state, const std::vector<Cell>& cells, bool puts, const PaintedMap& map) {
  switch (state[kBrush.ink]) {
    case BrushInk::Mask:
      return paint(state, cells, !puts, map);
    case BrushInk::Bias:
      return paint_bias(state, cells, puts ? std::optional(state[kBrush.bias]) : std::nullopt, map);
    case BrushInk::Pattern:
      break;
  }
  paint_pattern(state, cells, puts ? std::optional(state[kBrush.weight]) : std::nullopt);
}

bool has_ink(const State& state, Cell cell) {
  const Selection& selection = state.selection;
  if (state[kBrush.ink] == BrushInk::Bias) {
    return selected_mask(state).bias(selection.block.layer.value, selection.batch, selection.head, cell) ==
           state[kBrush.bias];
  }
  const auto pattern = fixed_pattern(state, selection.block, selection.head);
  return pattern && pattern->weights.state(cell) == state[kBrush.weight];
}

void erase_paint(State& state, const std::vector<Cell>& cells, const PaintedMap& map) {
  attention::MaskSpec& mask = selected_mask(state);
  erase_in(mask.painted, cells, concerns_shown(state, map));
  erase_in(mask.biases, cells, concerns_shown(state, map));
}

}  // namespace headlight::app
