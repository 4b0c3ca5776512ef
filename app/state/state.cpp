#include "app/state/state.h"

#include <type_traits>

#include "core/error.h"
#include "inference/notebooks.h"

namespace headlight::app {
namespace {

// Members of a State that is changeable or not.

template <typename AnyState>
auto& playground_in(AnyState& state) {
  auto* shown = std::get_if<Playground>(&state.source);
  return shown ? *shown : state.kept.playground;
}

template <typename AnyState>
auto& model_in(AnyState& state) {
  auto* shown = std::get_if<Model>(&state.source);
  return shown ? *shown : state.kept.model;
}

template <typename AnyState>
auto& text_in(AnyState& state) {
  return match(
      state.source, [&](auto& shown) -> auto& {
        using Shown = std::remove_cvref_t<decltype(shown)>;
        if constexpr (std::is_same_v<Shown, Notebook> || std::is_same_v<Shown, Capture>) {
          return state.kept.playground.text;
        } else {
          return shown.text;
        }
      });
}

/// Moves the shown source to the kept ones; `state.source` is a notebook then, and the text the playground's.
void keep_source(State& state) {
  std::string text = std::exchange(state.text(), {});
  match(
      state.source, [&](Playground& playground) { state.kept.playground = std::move(playground); }, [](Notebook&) {},
      [&](Model& model) {
        state.kept.model = std::move(model);
        state.kept.model.path.clear();
      },
      [](Capture&) {});
  state.source = Notebook{};
  state.text() = std::move(text);
}

/// Drops the parts of the state that belong only to the model or notebook that was left.
void drop_changes(State& state) {
  state.pass() = {.masks = std::move(state.masks)};
  state.compare.baseline.reset();
  state.selection = {};
  state.view.pinned.reset();
}

void forget_model_inputs(Model& model) {
  model.ids.clear();
  model.target_ids.clear();
  model.trained_masks = {};
}

void show_playground(State& state) {
  if (is_playground(state.source)) return;
  change_to_playground(state);
  forget_model_inputs(state.model());
  drop_changes(state);
  state.masks = std::exchange(state.playground().kept_masks, {});
}

/// Called before a notebook or a model is shown with its own masks.
void leave(State& state) {
  if (is_playground(state.source)) state.playground().kept_masks = std::move(state.masks);
  forget_model_inputs(state.model());
  drop_changes(state);
}

/// Returns the part of a source that a run needs.
Source run_source(Source source) {
  match(
      source,
      [](Playground& playground) {
        if (!playground.cross) playground.key_text.clear();
        playground.cross = !playground.key_text.empty();
        playground.kept_masks = {};
      },
      [](Notebook&) {}, [](Model& model) { model.trained_masks = {}; }, [](Capture&) {});
  return source;
}

/// Returns the masks of a notebook; a recipe that can't be made leaves the notebook's own.
attention::MaskSet make_masks(const Notebook& notebook) {
  try {
    return inference::make_notebook(notebook.name, {.recipe = notebook.edits.recipe}).masks;
  } catch (const Error&) {
    return inference::make_notebook(notebook.name).masks;
  }
}

const attention::MaskSet& notebook_masks(const Notebook& notebook) {
  // The masks of a recipe never change, and building a notebook costs more than a frame may.
  thread_local std::map<std::string, attention::MaskSet> notebooks;
  thread_local std::pair<Notebook, attention::MaskSet> edited;
  if (notebook.edits.recipe == inference::NotebookRecipe{}) {
    const auto known = notebooks.find(notebook.name);
    if (known != notebooks.end()) return known->second;
    return notebooks.emplace(notebook.name, make_masks(notebook)).first->second;
  }
  if (edited.first.name != notebook.name || edited.first.edits.recipe != notebook.edits.recipe)
    edited = {notebook, make_masks(notebook)};
  return edited.second;
}

}  // namespace

RunInputs::RunInputs() = default;
RunInputs::RunInputs(const RunInputs&) = default;
RunInputs::RunInputs(RunInputs&&) noexcept = default;
RunInputs& RunInputs::operator=(const RunInputs&) = default;
RunInputs& RunInputs::operator=(RunInputs&&) noexcept = default;
RunInputs::~RunInputs() = default;
bool RunInputs::operator==(const RunInputs&) const = default;

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;
bool State::operator==(const State&) const = default;

Playground& State::playground() { return playground_in(*this); }
const Playground& State::playground() const { return playground_in(*this); }
Model& State::model() { return model_in(*this); }
const Model& State::model() const { return model_in(*this); }
std::string& State::text() { return text_in(*this); }
const std::string& State::text() const { return text_in(*this); }

RunInputs run_inputs(const State& state) {
  RunInputs inputs;
  inputs.source = run_source(state.source);
  if (is_capture(inputs.source)) return inputs;  // of which nothing is computed that a mask or a head could change
  inputs.pass() = state.pass();
  inputs.settings = {};
  for (const SettingGroup* group : effective_groups(state.settings)) {
    for (const AnySetting* setting : group->settings) inputs.settings.put(*setting, state.settings.value(*setting));
  }
  return inputs;
}

void change_to_playground(State& state) {
  if (is_playground(state.source)) return;
  keep_source(state);
  state.source = std::exchange(state.kept.playground, {});
}

void change_to_notebook(State& state, const std::string& name) {
  keep_source(state);
  state.source = Notebook{name};
}

void change_to_model(State& state, const std::string& path) {
  keep_source(state);
  Model model = std::exchange(state.kept.model, {});
  model.path = path;
  model.applies_adapter = true;
  model.text = std::exchange(state.kept.playground.text, {});
  state.source = std::move(model);
}

void change_to_capture(State& state, const std::string& path) {
  keep_source(state);
  state.source = Capture{path};
}

void select_preset(State& state, const std::string& name) {
  if (name.empty()) return show_playground(state);
  if (name == notebook_name(state.source)) return restore_training(state);
  attention::MaskSet masks = inference::make_notebook(name).masks;
  leave(state);
  change_to_notebook(state, name);
  state.masks = std::move(masks);
}

void select_model(State& state, const std::string& path, const attention::MaskSet& trained_masks) {
  if (path.empty()) return show_playground(state);
  if (path == model_path(state.source)) return restore_training(state);
  attention::MaskSet masks = trained_masks;
  SharedValue<BaselineRun> baseline;
  if (is_model(state.source) || is_capture(state.source)) baseline = state.compare.baseline;
  leave(state);
  change_to_model(state, path);
  state.model().trained_masks = masks;
  state.masks = std::move(masks);
  state.compare.baseline = std::move(baseline);
}

void select_capture(State& state, const std::string& path) {
  if (path.empty()) return show_playground(state);
  if (path == capture_path(state.source)) return;
  SharedValue<BaselineRun> baseline;
  if (is_model(state.source) || is_capture(state.source)) baseline = state.compare.baseline;
  leave(state);
  change_to_capture(state, path);
  state.masks = {};
  state.compare.baseline = std::move(baseline);
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

std::optional<attention::ReplacementPattern> fixed_pattern(const State& state, model::BlockRef block, std::uint32_t head) {
  const auto found = state.patterns.find({block, head});
  return found == state.patterns.end() ? std::nullopt : std::optional(found->second);
}

attention::MaskSpec& selected_mask(State& state) { return state.masks[state.selection.block.kind]; }
const attention::MaskSpec& selected_mask(const State& state) { return state.masks[state.selection.block.kind]; }

const attention::MaskSet& trained_masks(const Source& source) {
  static const attention::MaskSet kPlayground;
  return match(
      source, [](const Playground&) -> const attention::MaskSet& { return kPlayground; },
      [](const Notebook& notebook) -> const attention::MaskSet& { return notebook_masks(notebook); },
      [](const Model& model) -> const attention::MaskSet& { return model.trained_masks; },
      [](const Capture&) -> const attention::MaskSet& { return kPlayground; });
}

const inference::NotebookEdits& notebook_edits(const Source& source) {
  static const inference::NotebookEdits kNone;
  const auto* notebook = std::get_if<Notebook>(&source);
  return notebook != nullptr ? notebook->edits : kNone;
}

void edit_notebook(State& state, inference::NotebookEdits edits) {
  auto* notebook = std::get_if<Notebook>(&state.source);
  if (notebook == nullptr) return;
  const bool has_own_masks = state.masks == trained_masks(state.source);
  notebook->edits = std::move(edits);
  if (has_own_masks) reset_masks(state);
}

void reset_masks(State& state) { state.masks = trained_masks(state.source); }

void restore_training(State& state) {
  if (auto* notebook = std::get_if<Notebook>(&state.source)) notebook->edits = {};
  if (auto* model = std::get_if<Model>(&state.source)) model->applies_adapter = true;
  state.pass() = {.masks = trained_masks(state.source)};
}

void select_head(Selection& selection, const HeadRef& head) {
  selection.block = head.block;
  selection.head = head.head;
  selection.mean = HeadMean::None;
}

bool is_pinned(const HeadChoices& choices, const HeadRef& head) { return std::ranges::binary_search(choices.pinned, head); }

void toggle_pin(HeadChoices& choices, const HeadRef& head) {
  const auto at = std::ranges::lower_bound(choices.pinned, head);
  if (at != choices.pinned.end() && *at == head) {
    choices.pinned.erase(at);
  } else if (choices.pinned.size() < kMaxPinnedHeads) {
    choices.pinned.insert(at, head);
  }
}

std::vector<model::BlockRef> blocks_of_kind(const BlockShapes& shapes, model::BlockKind kind) {
  std::vector<model::BlockRef> blocks;
  for (const auto& [block, shape] : shapes) {
    if (block.kind == kind) blocks.push_back(block);
  }
  return blocks;
}

void clamp_selection(State& state, const BlockShapes& shapes) {
  if (shapes.empty()) return;
  Selection& selection = state.selection;
  auto found = shapes.find(selection.block);
  if (found == shapes.end()) {
    // The selection goes to the next layer of the same kind, else its last one, else the first block.
    const std::vector<model::BlockRef> blocks = blocks_of_kind(shapes, selection.block.kind);
    const auto next = std::ranges::lower_bound(blocks, selection.block);
    selection.block = blocks.empty() ? shapes.begin()->first : next == blocks.end() ? blocks.back() : *next;
    found = shapes.find(selection.block);
  }
  const inference::BlockShape& shape = found->second;
  if (!shape.extent(state.view.heatmap_stage)) state.view.heatmap_stage = attention::Stage::Weights;
  if (!shape.has_values) state.view.weighs_values = false;
  selection.batch = std::min(selection.batch, std::max(shape.batch, 1u) - 1);
  selection.head = std::min(selection.head, std::max(shape.heads, 1u) - 1);
  std::optional<attention::Cell>& pinned = state.view.pinned;
  if (pinned && (pinned->query >= shape.queries || pinned->key >= shape.keys)) pinned.reset();
  std::optional<LockedToken>& locked = state.view.locked;
  if (locked && locked->token >= (locked->side == MapSide::Query ? shape.queries : shape.keys)) locked.reset();
}

}  // namespace headlight::app
