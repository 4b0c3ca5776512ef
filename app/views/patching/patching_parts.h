#pragma once

// Parts of the view Patching around its map.

#include "app/engine/analyses/patching.h"
#include "app/frame.h"
#include "app/widgets/head_scores.h"
#include "app/widgets/position_header.h"

namespace headlight::app {

/// Returns "residual stream", "attention output", "MLP output"; of a head "queries", "output", …; "paths of heads",
/// "weight".
std::string patched_thing(const PatchingChoices& choices);

/// Returns the title of the map: what is put, and what is measured.
std::string map_title(const PatchingChoices& choices, const std::string& receiver, const std::string& measured);
/// Returns the end of a cell's tooltip: what clicks do.
const char* click_hint(PatchMap map);

/// The names of the two runs: the present one and the one that it is compared with.
struct RunNames {
  std::string present = "the present run", baseline = "the baseline";
};
RunNames run_names(const State& state);

/// Returns the run that is patched and the one that the activations come from.
std::string target_name(const PatchingChoices& choices, const RunNames& names);
std::string source_name(const PatchingChoices& choices, const RunNames& names);

/// The part of the difference from which on a cell is worth a word.
inline constexpr double kVisibleRecovery = 0.05;

/// Describes a number of the map: which run is changed in which way, and what 0 and 1 mean. `receiver`: of paths, or the
/// head whose weights are put; `where`: " at all tokens", for heads and paths.
std::string cell_text(const PatchingChoices& choices, const RunNames& names, const std::string& receiver, const char* where);

/// The findings that a conclusion is drawn from.
struct PatchedMap {
  PatchMap map = PatchMap::Residual;
  std::span<const PatchCell> strongest = {};  ///< first
  std::function<std::string(const PatchCell&)> place = {};
  std::string receiver = {};  ///< of paths
  std::size_t tried = 0;      ///< heads that were tried as receivers; 0: the user chose one
};
/// Returns a map's conclusion: what carries the difference, and what works against it.
Sentence conclusion_sentence(const PatchedMap& found);

/// Returns "+1.203", "34 %", "2.418" (nats): a number of what is measured.
std::string measured_text(PatchMeasure measure, const PatchedNumbers& numbers);

/// Returns a recovery as a sentence's beginning: "Goes 0.76 of the way to the baseline", or that it isn't one.
std::string recovery_text(const PatchingChoices& choices, const RunNames& names, double recovery);

/// Returns a sentence where recoveries are large because both runs have nearly the same number; otherwise empty. `largest`:
/// the size of the largest recovery.
std::string scale_note(double largest);

/// Returns the patches of the list, the strongest first; a long one has none whose recovery is written as 0.000.
std::vector<PatchCell> listed_patches(const PatchEffects& effects, PatchMeasure measure);
/// Returns the part of the width that a map of tokens takes, with its scale: at most `most`.
float share_of_map(const Frame& frame, const Grid& map, float most);

/// Return the recoveries of a map of layers and heads, the one farthest from 0 first; and of tokens (rows) and layers.
HeadScores recoveries_of_heads(const PatchEffects& effects, PatchMeasure measure, model::BlockKind kind,
                               const BlockShapes& shapes);
Grid recoveries_of_tokens(const PatchEffects& effects, PatchMeasure measure, const model::TokenBatch& tokens,
                          std::uint32_t batch);
/// Returns the recoveries of a head's weights, queries (rows) and keys.
Grid recoveries_of_weights(const PatchEffects& effects, PatchMeasure measure, const model::ModelInput& input,
                           model::BlockKind kind, std::uint32_t batch);

/// Returns all cells that are known as CSV with a header line: layer, token (with its text) or head, or of weights query and
/// key (with its text); then logit, probability, loss, and the recovery of each. `label`: a column's text.
Table patching_table(const PatchEffects& effects, PatchMap map, const std::function<std::string(std::size_t)>& label);

/// The head in which paths end, and its input that they lead into.
struct PathEnd {
  HeadRef head;
  PathInput input = PathInput::Query;
  std::optional<double> recovery =
      {};  ///< where the view has found the head: how far its output alone carries the prediction
};

/// Returns "L3 H5's queries", with the kind of attention where there are several; of keys and values that heads share, all
/// of them: "keys of L3 H4 to H7".
std::string receiver_name(const Frame& frame, const PathEnd& receiver);

/// The receiver while the user has chosen none. Heads of the selected kind, that other heads of it come before, are tried
/// from the one whose output of the other run carries the prediction the furthest (the map "heads" of the same prediction)
/// on, a few at most: the first one into which a path leads that carries a visible part of it is the receiver, by the input
/// into which the strongest path leads. Where none is visible, the strongest of all that were tried is taken.
struct FoundReceiver {
  std::optional<PathEnd> end = {};  ///< none: not known yet, or there is none
  bool is_searching = false;
  std::size_t tried = 0;           ///< heads whose paths were looked at; 0: heads are still being patched by themselves
  std::size_t known = 0, all = 0;  ///< cells of the maps that are measured so far
};
/// Returns the question about paths into such an end, of the choices in the state.
PathQuestion paths_query(const Frame& frame, const ChosenLogit& logit, const PathEnd& end);
/// Returns how far the search is, while it goes on.
std::string search_text(const FoundReceiver& search);
FoundReceiver find_receiver(Frame& frame, const ChosenLogit& logit);

/// Draws the receiver of path patching, which of its inputs, and whether paths lead through MLPs.
void draw_path_controls(Frame& frame, const PathEnd& end);

/// Draws what to do before anything can be patched, with buttons that do it: no prediction, no baseline, the baseline is the
/// present one, or the two don't fit. Draws nothing and returns true where two runs are there.
bool draw_patching_start(Frame& frame);

/// Draws the choices of what is patched, into which run, what is measured of which tokens, and the kind of attention.
void draw_patching_controls(Frame& frame, const ChosenLogit& logit);

/// Activations of a cell of the map can be dragged to another one, or onto a button. The last item is where they begin:
/// `words` are shown at the pointer while they are on their way. `map`: a number of the map, which may be another one when
/// they are dropped.
void begin_drag(const PatchCell& cell, std::uint64_t map, const std::string& words);
/// Returns the cell of this map whose activations were dropped on the last item in this frame.
std::optional<PatchCell> dropped_on_last_item(std::uint64_t map);

inline constexpr float kSteerWidth = 170.0F;
/// Returns the label of the button that KeptChangesPanel::draw_mean() draws.
const char* mean_label(const State& state);

/// Activations of the baseline that are kept in the present one: asked of the engine, then a part of the state.
class KeptChangesPanel {
 public:
  /// The place where activations are put that were dragged from elsewhere: a layer and head, and the first token.
  struct Target {
    std::uint32_t layer = 0, head = 0, first = 0;
  };
  /// Asks for them; they are kept as `name` when they arrive, at their own place or at the target.
  void keep(const AnalysisQuery& query, std::string name, std::optional<Target> target = {});
  /// A list, kSteerWidth wide, and a button in the present line that keep the difference of both runs' residual streams
  /// before the selected layer, or what the head gives on the mean in the baseline (none: the button is disabled).
  void draw_steering(Frame& frame);
  void draw_mean(Frame& frame, const std::optional<HeadRef>& head);
  /// Keeps what has arrived. Call it in every frame in which there is a baseline.
  void update(Frame& frame);
  /// Draws a line for each that is kept, with its strength and a button that drops it; nothing where none is.
  void draw(Frame& frame) const;

 private:
  std::optional<AnalysisQuery> wanted_;
  std::string name_;
  std::optional<Target> target_;
};

}  // namespace headlight::app
