#include "app/state/state.h"

#include <algorithm>
#include <utility>

#include "inference/notebooks.h"

namespace headlight::app {
namespace {

/// Does the scope `wide` include every map of `narrow`?
bool covers(const attention::PaintScope& wide, const attention::PaintScope& narrow) {
  const auto axis_covers = [](const auto& outer, const auto& inner) { return !outer || outer == inner; };
  return axis_covers(wide.layer, narrow.layer) && axis_covers(wide.batch, narrow.batch) &&
         axis_covers(wide.head, narrow.head);
}

attention::PaintScope paint_scope(const State& state) {
  const Selection& selection = state.selection;
  switch (state.view.paint_reach) {
    case PaintReach::ThisHead:
      return {.layer = selection.block.layer.value, .batch = selection.batch, .head = selection.head};
    case PaintReach::ThisLayer:
      return {.layer = selection.block.layer.value, .batch = selection.batch, .head = std::nullopt};
    case PaintReach::AllLayers:
      break;
  }
  return {.layer = std::nullopt, .batch = selection.batch, .head = std::nullopt};
}

/// Leaves the current model or preset and drops the parts of the state that belong only to it.
void leave(State& state) {
  state.preset.clear();
  state.model.path.clear();
  state.model.ids.clear();
  state.model.target_ids.clear();
  state.model_masks = {};
  state.gains.clear();
  state.selection = {};
  state.view.pinned.reset();
}

bool is_playground(const State& state) { return state.preset.empty() && state.model.path.empty(); }

void show_playground(State& state) {
  if (is_playground(state)) return;
  leave(state);
  state.masks = std::exchange(state.playground_masks, {});
}

/// A notebook or a model with its own masks.
void show_another(State& state, attention::MaskSet masks) {
  if (is_playground(state)) state.playground_masks = std::move(state.masks);
  leave(state);
  state.masks = std::move(masks);
}

}  // namespace

RunInputs run_inputs(const State& state) {
  return {.playground = state.playground,
          .text = state.text,
          .key_text = state.cross ? state.key_text : std::string(),
          .preset = state.preset,
          .model = state.model,
          .masks = state.masks,
          .gains = state.gains};
}

void select_preset(State& state, const std::string& name) {
  if (name.empty()) return show_playground(state);
  if (name == state.preset) return restore_training(state);
  show_another(state, inference::make_notebook(name).masks);
  state.preset = name;
}

void select_model(State& state, const std::string& path, const attention::MaskSet& trained_masks) {
  if (path.empty()) return show_playground(state);
  if (path == state.model.path) return restore_training(state);
  show_another(state, trained_masks);
  state.model.path = path;
  state.model_masks = trained_masks;
}

float head_gain(const State& state, model::BlockRef block, std::uint32_t head) {
  const auto found = state.gains.find({block, head});
  return found == state.gains.end() ? 1.0f : found->second;
}

void set_head_gain(State& state, model::BlockRef block, std::uint32_t head, float gain) {
  if (gain == 1.0f) {
    state.gains.erase({block, head});
  } else {
    state.gains[{block, head}] = gain;
  }
}

attention::MaskSpec& selected_mask(State& state) { return state.masks[state.selection.block.kind]; }
const attention::MaskSpec& selected_mask(const State& state) { return state.masks[state.selection.block.kind]; }

void paint(State& state, attention::Cell cell, bool is_visible, attention::KeyRange keys, bool has_trained_window) {
  attention::MaskSpec& mask = selected_mask(state);
  const attention::PaintScope scope = paint_scope(state);
  // A wider brush replaces narrower paint in the same maps.
  for (auto painted = mask.painted.begin(); painted != mask.painted.end();) {
    if (covers(scope, painted->first)) painted->second.erase(cell);
    painted = painted->second.empty() ? mask.painted.erase(painted) : std::next(painted);
  }
  const Selection& selection = state.selection;
  const bool heads_differ = mask.matrix && mask.matrix->heads > 1 && !scope.head;
  const bool is_visible_unpainted =
      mask.is_visible(selection.block.layer.value, selection.batch, selection.head, cell.query, cell.key, keys);
  if (heads_differ || has_trained_window || is_visible_unpainted != is_visible) mask.painted[scope].paint(cell, is_visible);
}

const attention::MaskSet& trained_masks(const State& state) {
  static const attention::MaskSet kPlayground;
  if (!state.model.path.empty()) return state.model_masks;
  if (state.preset.empty()) return kPlayground;
  // A notebook's masks never change, and building a notebook costs more than a frame may.
  thread_local std::map<std::string, attention::MaskSet> notebooks;
  const auto known = notebooks.find(state.preset);
  if (known != notebooks.end()) return known->second;
  return notebooks.emplace(state.preset, inference::make_notebook(state.preset).masks).first->second;
}

void reset_masks(State& state) { state.masks = trained_masks(state); }

void restore_training(State& state) {
  reset_masks(state);
  state.gains.clear();
}

void select_head(Selection& selection, model::BlockRef block, std::uint32_t head) {
  selection.block = block;
  selection.head = head;
  selection.mean = HeadMean::None;
}

void clamp_selection(State& state, const BlockShapes& shapes) {
  if (shapes.empty()) return;
  Selection& selection = state.selection;
  auto found = shapes.find(selection.block);
  if (found == shapes.end()) {
    // The last layer of the same kind, else the first block.
    found = shapes.upper_bound({.kind = selection.block.kind, .layer = {~0u}});
    const bool has_kind = found != shapes.begin() && std::prev(found)->first.kind == selection.block.kind;
    found = has_kind ? std::prev(found) : shapes.begin();
    selection.block = found->first;
  }
  const inference::BlockShape& shape = found->second;
  selection.batch = std::min(selection.batch, std::max(shape.batch, 1u) - 1);
  selection.head = std::min(selection.head, std::max(shape.heads, 1u) - 1);
  std::optional<attention::Cell>& pinned = state.view.pinned;
  if (pinned && (pinned->query >= shape.queries || pinned->key >= shape.keys)) pinned.reset();
}

}  // namespace headlight::app
