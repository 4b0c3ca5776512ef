#pragma once

#include "app/engine/engine.h"
#include "app/engine/generation.h"
#include "app/shapes/sentence.h"
#include "app/shell/ui.h"
#include "app/state/transient.h"

namespace headlight::app {

/// The places of drawn widgets by name: "mask.causal", "menu.File", "head.map" (all cells of the big heatmap),
/// "grid.encoder.0.3" (a thumbnail: kind, layer, head). UI units.
using ItemRects = std::map<std::string, chart::Rect, std::less<>>;

/// The tooltips of controls, by the same names; empty: the control has none.
using ItemTips = std::map<std::string, std::string, std::less<>>;

class CheckpointRoom;
class PromptRoom;
class SurveyRoom;

/// The arguments of every panel, once a frame. A panel is a function `void draw_<name>_panel(Frame&)` in a file of its own:
/// it reads the result, changes the state, asks for tiles, and calls no other panel. Computation starts because the state
/// changed.
struct Frame {
  shell::Ui& ui;
  State& state;
  Transient& transient;
  const EngineResult& result;
  /// The queries of what this frame shows, the most important first; the viewer hands them to the engine after the frame.
  std::vector<Query>& queries;
  ItemRects* items = nullptr;                             ///< of this frame; null where no test reads them
  SurveyRoom* surveys = nullptr;                          ///< the open survey and the one that is made; null in tests
  CheckpointRoom* checkpoints = nullptr;                  ///< the steps of the training on show; null in tests
  PromptRoom* prompts = nullptr;                          ///< what is measured over a set of prompts; null in tests
  const Generation* generation = nullptr;                 ///< of the text that the model continues; none: it never does
  std::vector<std::string_view>* commands = nullptr;      ///< ids, for the window to run in the next frame; may be null
  ItemTips* tips = nullptr;                               ///< of this frame; may be null
  std::pair<std::string, chart::Rect> last_control = {};  ///< what mark_last_item() noted last
  std::string pane = {};  ///< comes before names of what is drawn: "pane1."; empty: the pane of views that has the keyboard
  chart::Rect sentence_place = {};  ///< below the view's title; empty: the view has no sentence
  /// What the view on screen says there, of what is pointed at, else of what is chosen; empty: what its map says.
  Sentence says = {};

  /// Notes where something that a person can point at is, so that tests find it by name.
  void mark(const std::string& name, const chart::Rect& rect) {
    if (items) items->insert_or_assign(pane + name, rect);
  }

  /// Notes that a cell of the stage's matrix is under the pointer, or a token: of this frame's panes.
  void point_at(attention::Cell cell, attention::Stage stage = attention::Stage::Weights) {
    transient.hovered = cell;
    transient.hovered_stage = stage;
  }
  void point_at(LockedToken token) {
    (token.side == MapSide::Query ? transient.points_at.query : transient.points_at.key) = token.token;
  }

  /// Returns the tile if it is known, possibly of the previous run; it is asked for in any case. Null while there is none.
  const EngineTile* ask(const TileQuery& query) {
    queries.emplace_back(query);
    const auto known = result.tiles.find(query);
    return known == result.tiles.end() ? nullptr : &known->second;
  }

  /// Asks likewise for a prediction, and for the memory that cross-attention reads.
  const Prediction* ask(const PredictionQuery& query) {
    queries.emplace_back(query);
    return result.prediction(query);
  }
  const Tensor* ask(const MemoryQuery& query) {
    queries.emplace_back(query);
    return result.memory.get();
  }

  const Analysed* ask(const AnalysisQuery& query) {
    queries.emplace_back(query);
    return result.analysed(query);
  }

  /// Do maps show the present run minus the baseline? Not where the two can't be compared.
  bool shows_difference() const {
    return state.compare.baseline && state.compare.shows_difference && result.baseline_error.empty();
  }
  /// Returns the query, for the difference where maps show differences.
  TileQuery compared(TileQuery query) const {
    if (shows_difference()) query.quantity = difference_of(query.quantity);
    return query;
  }

  /// Starts a command with the next frame, if it is enabled then. `id` must outlive this frame.
  void start_command(std::string_view id) {
    if (!commands) return;
    commands->push_back(id);
    ui.request_redraw(2);
  }
};

}  // namespace headlight::app
