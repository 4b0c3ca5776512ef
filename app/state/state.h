#pragma once

// The usual headers of the standard library and {fmt}, which aren't included again beside this one.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <glm/vec2.hpp>

#include "app/state/kept_change.h"
#include "app/state/setting.h"
#include "app/state/source.h"
#include "app/state/view_choices.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "core/shared_value.h"
#include "inference/language_model.h"
#include "inference/playground.h"
#include "inference/sampling.h"
#include "inference/session.h"
#include "model/config.h"

namespace headlight::app {

/// Limits of the playground's settings.
inline constexpr std::uint32_t kMaxGeneratedTokens = 4'096;
inline constexpr float kMinTemperature = 0.01f, kMaxTemperature = 10.0f;
inline constexpr std::uint32_t kMaxTopK = 1'000'000;

/// The choices for continuing a text.
struct GenerationChoices {
  inference::SamplingSettings sampling;
  std::uint32_t tokens = 40;  ///< at most

  bool operator==(const GenerationChoices&) const = default;
};

/// The texts and settings of sources that aren't shown; of the shown one the default.
struct KeptSources {
  Playground playground;
  Model model;  ///< without path, text and ids: what the next opened model takes over

  bool operator==(const KeptSources&) const = default;
};

/// Changes of a source's pass.
struct PassChanges {
  attention::MaskSet masks = {};           ///< of the shown source
  inference::HeadGains gains = {};         ///< scaled or knocked-out heads; others have 1
  inference::FixedPatterns patterns = {};  ///< of heads whose pattern is replaced
  KeptChanges changes = {};                ///< patches and steering vectors
  Choices settings = {};                   ///< of groups that change a pass

  bool operator==(const PassChanges&) const = default;

  PassChanges& pass() { return *this; }
  const PassChanges& pass() const { return *this; }
};

/// The inputs of a forward pass. Equal values give equal results: settings without an effect are those of a new state.
struct RunInputs : PassChanges {
  /// The source without masks of its own, and with the playground's key_text only where the text attends to it (as `cross`
  /// says).
  Source source;

  // Compiled once, in state.cpp, like State's.
  RunInputs();
  RunInputs(const RunInputs&);
  RunInputs(RunInputs&&) noexcept;
  RunInputs& operator=(const RunInputs&);
  RunInputs& operator=(RunInputs&&) noexcept;
  ~RunInputs();
  bool operator==(const RunInputs&) const;
};

/// A run that the present one is compared with.
struct BaselineRun {
  RunInputs inputs;
  std::string name;  ///< what was special about it: "as trained", "1 head knocked out"

  bool operator==(const BaselineRun&) const = default;
};

/// The choices of comparing (app/state/comparison.h).
struct CompareChoices {
  SharedValue<BaselineRun> baseline = {};  ///< none: nothing is
  /// The baseline is that of a second text, whose other choices are always the present ones (follow_second_text()).
  bool is_second_text = false;
  bool shows_difference = true;  ///< maps show the present run minus the baseline; else the present run

  bool operator==(const CompareChoices&) const = default;
};

/// All choices of the user: compared, copied, saved and undone as one value. It contains no computed results.
struct State : PassChanges, Choices {
  Source source;
  KeptSources kept;
  GenerationChoices generation;
  Selection selection;
  ViewChoices view;
  HeadChoices heads;
  CompareChoices compare;
  PatchingChoices patching;
  std::string opened_matrix;  ///< of the block view: "scores"; empty: the whole layer is shown
  HeadRef survey_head;        ///< of the corpus view, where the survey's model isn't on show

  // Compiled once, in state.cpp, instead of in each of some fifty sources that copy, compare or drop a state.
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();
  bool operator==(const State&) const;

  /// Returns the playground, shown or kept.
  Playground& playground();
  const Playground& playground() const;
  /// Returns the shown model, or the settings that the next opened one takes over.
  Model& model();
  const Model& model() const;
  /// Returns the text of the shown source, which the next one takes over; beside a notebook the playground's.
  std::string& text();
  const std::string& text() const;
};

/// Returns where the state keeps the setting.
template <typename AnyState>
auto& choices_of(AnyState& state, const AnySetting& setting) {
  return setting.changes_pass ? state.settings : state;
}

RunInputs run_inputs(const State& state);

/// These functions change the source alone: the text goes over, settings are kept, masks and the rest of the state stay.
void change_to_playground(State& state);
void change_to_notebook(State& state, const std::string& name);
void change_to_model(State& state, const std::string& path);
void change_to_capture(State& state, const std::string& path);

/// Shows a notebook with its own masks, also where it is shown already, or (empty name) goes back to the playground as it
/// was left. Throws Error naming the known presets.
void select_preset(State& state, const std::string& name);

/// Shows a model with the masks it was trained with; the text stays. An empty path goes back to the playground as it was
/// left.
void select_model(State& state, const std::string& path, const attention::MaskSet& trained_masks);

/// Shows a capture, without masks. A run that another capture is compared with stays. An empty path: the playground.
void select_capture(State& state, const std::string& path);

/// Returns the head's gain; 1 where it wasn't changed.
float head_gain(const State& state, model::BlockRef block, std::uint32_t head);
/// Sets the head's gain; a gain of 1 is removed, so that setting it back leaves no entry.
void set_head_gain(State& state, model::BlockRef block, std::uint32_t head, float gain);

/// Returns the pattern that takes the place of the head's own.
std::optional<attention::ReplacementPattern> fixed_pattern(const State& state, model::BlockRef block, std::uint32_t head);

/// Returns the mask that panels edit: of the selected block's kind.
attention::MaskSpec& selected_mask(State& state);
const attention::MaskSpec& selected_mask(const State& state);

/// Returns the masks of a source that reset_masks() restores: no rule, no matrix, nothing painted, and key padding
/// (playground), or the notebook's or the model's own masks.
const attention::MaskSet& trained_masks(const Source& source);
void reset_masks(State& state);
/// Restores the model's trained masks, no gains, no replaced patterns and the notebook's own numbers: the initial state of a
/// new start, a preset and an opened model.
void restore_training(State& state);

/// Returns the user's changes of the shown notebook; empty beside other sources.
const inference::NotebookEdits& notebook_edits(const Source& source);
/// Changes the shown notebook. Masks that are the notebook's own become those that its changed recipe makes.
void edit_notebook(State& state, inference::NotebookEdits edits);

/// Blocks of a run with their sizes, as the engine reports them.
using BlockShapes = std::map<model::BlockRef, inference::BlockShape>;
/// Returns the blocks of a kind by layer.
std::vector<model::BlockRef> blocks_of_kind(const BlockShapes& shapes, model::BlockKind kind);
/// Selects one head's map, also where a mean was shown.
void select_head(Selection& selection, const HeadRef& head);

/// Pins a head in the views of all heads, or unpins it. At most kMaxPinnedHeads are kept.
void toggle_pin(HeadChoices& choices, const HeadRef& head);
bool is_pinned(const HeadChoices& choices, const HeadRef& head);

/// Clamps the selection, its stage and the pinned cell to an existing map and cell. Call it whenever a new run arrives,
/// before drawing.
void clamp_selection(State& state, const BlockShapes& shapes);

/// The difference between two states.
struct Change {
  std::string label;           ///< "Edit text", "Change heads", "Paint cells", … for the menu; empty when nothing differs
  bool is_continuous = false;  ///< typing, numbers, moving through heads: quick repetitions are one step of the history
};
Change describe_change(const State& before, const State& after);

}  // namespace headlight::app
