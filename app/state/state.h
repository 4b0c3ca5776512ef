#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <glm/vec2.hpp>

#include "app/state/experiment_choices.h"
#include "app/state/kept_change.h"
#include "app/state/number_ref.h"
#include "app/state/source.h"
#include "attention/mask.h"
#include "attention/stage.h"
#include "core/shared_value.h"
#include "evaluation/head_metric.h"
#include "inference/language_model.h"
#include "inference/playground.h"
#include "inference/sampling.h"
#include "inference/session.h"
#include "model/config.h"
#include "view/value_scale.h"

namespace headlight::app {

/// The view that a new state shows: one head's heatmap. It has the brush and the means over heads.
inline constexpr const char* kHeadView = "head";

enum class Theme : std::uint8_t { Dark, Light, HighContrast };
/// The top of the colour bar: the whole map's range, or each row's own largest value.
enum class ColorRange : std::uint8_t { Absolute, PerRow };
/// Order of the thumbnails: layer by layer and head by head, or the most concentrated heads first (mean of the rows'
/// largest weights, 1/l of softmax).
enum class GridOrder : std::uint8_t { ByLayer, ByConcentration };
/// The maps that painting a cell changes.
enum class PaintReach : std::uint8_t { ThisHead, ThisLayer, LaterLayers, AllLayers };
/// The cells that the brush changes at once: the one under it, its row, its column, all with its distance of query and key,
/// or a rectangle that is drawn.
enum class BrushShape : std::uint8_t { Cell, Row, Column, Diagonal, Rectangle };
/// What the brush puts onto cells: the mask (or takes it away), a bias of their scores, or their weight in a pattern that
/// takes the selected head's place.
enum class BrushInk : std::uint8_t { Mask, Bias, Pattern };

/// The weights that the map shows: one head's, or the mean of several heads' (of cross-attention: an alignment).
enum class HeadMean : std::uint8_t {
  None,   ///< the selected head alone
  Layer,  ///< mean over the heads of its layer
  Kind,   ///< mean over the heads of all layers with its kind of attention
};
/// The row labels of an encoder–decoder's maps: the token that the model writes there (row t predicts token t + 1), or the
/// token that the decoder reads there.
enum class RowNames : std::uint8_t { Written, Read };

/// One of a map's two sides.
enum class MapSide : std::uint8_t { Query, Key };
/// A token that stays chosen when the pointer leaves: a row of the maps, or a column.
struct LockedToken {
  MapSide side = MapSide::Query;
  std::uint32_t token = 0;

  bool operator==(const LockedToken&) const = default;
};
/// What the big heatmap shows of special tokens, such as [CLS] and </s>.
enum class SpecialTokens : std::uint8_t {
  Shown,
  Hidden,        ///< without their rows and columns
  Renormalized,  ///< likewise, and the weights that are left in a row are divided by their sum
};
/// Of a pair of sentences A and B: which one's tokens attend to which one's.
enum class PairPart : std::uint8_t { All, FirstToFirst, FirstToSecond, SecondToFirst, SecondToSecond };

/// Limits of the least weight that is drawn as a line.
inline constexpr float kLeastLineWeight = 1e-4F, kMostLineWeight = 1.0F;

/// What the view of lines draws.
struct LineChoices {
  bool shows_selected = true;               ///< the selected head alone; else those that aren't hidden
  std::vector<std::uint32_t> hidden_heads;  ///< ascending; of the selected layer, whose other heads are drawn
  float threshold = 0.05F;                  ///< the least weight that is drawn
  PairPart pair_part = PairPart::All;

  bool operator==(const LineChoices&) const = default;
};

/// The selected map.
struct Selection {
  model::BlockRef block;
  std::uint32_t batch = 0;
  std::uint32_t head = 0;
  HeadMean mean = HeadMean::None;  ///< of weights on the big heatmap; everything else shows `head`

  auto operator<=>(const Selection&) const = default;
};

/// One head of a network.
struct HeadRef {
  model::BlockRef block;
  std::uint32_t head = 0;

  auto operator<=>(const HeadRef&) const = default;
};
inline constexpr std::size_t kMostPinnedHeads = 4'096;

/// What the heads view compares heads by: their metrics; the weight from one token to another; how well they match a
/// pattern; how alike their weights are; or what their parameters say without any text.
enum class HeadsMode : std::uint8_t { Metrics, FromTo, Pattern, Similarity, Composition };
/// The pattern that heads are ranked by. Typed: HeadChoices::typed_pattern.
enum class HeadPattern : std::uint8_t {
  PreviousToken,
  Itself,
  FirstToken,
  NextToken,
  DuplicateToken,
  Induction,
  Uniform,
  Typed
};
/// A number of a pair of heads, or of one, that follows from the parameters alone.
enum class CircuitScore : std::uint8_t { QueryComposition, KeyComposition, ValueComposition, Copying };

/// How the views of all heads score, order and filter them.
struct HeadChoices {
  evaluation::PatternScoring scoring = {};
  std::optional<evaluation::HeadMetric> order = {};   ///< the highest first; none: by layer and head
  bool lowest_first = false;                          ///< of `order`
  std::optional<evaluation::HeadMetric> filter = {};  ///< leaves out heads whose value is below `least`
  float least = 0.5f;
  bool only_pinned = false;          ///< leaves out all others
  bool shows_badges = true;          ///< names on thumbnails what a head does
  std::vector<HeadRef> pinned = {};  ///< in ascending order, each once
  HeadsMode mode = HeadsMode::Metrics;
  HeadPattern pattern = HeadPattern::PreviousToken;
  std::string typed_pattern = {};  ///< as it was typed: a mask's expression (attention/expression.h), or not yet one
  bool subtracts_chance = false;   ///< a pattern's mass less what uniform attention would put there
  bool groups_similar = true;      ///< the map of similarities has similar heads side by side; else by layer and head
  CircuitScore circuit_score = CircuitScore::QueryComposition;

  bool operator==(const HeadChoices&) const = default;
};

/// The display settings.
struct ViewChoices {
  std::string tab = kHeadView;  ///< id of the view in the middle (app/views/view_table.h); an unknown one: the first view
  attention::Stage heatmap_stage = attention::Stage::Weights;  ///< a map stage: scores, scaled, masked or weights
  std::string color_map = "viridis";                           ///< a name of view/color_map.h
  ColorRange color_range = ColorRange::Absolute;
  view::ScaleSpread color_spread = view::ScaleSpread::Linear;       ///< of weights; scores have both signs
  std::map<attention::Stage, view::ValueLimits> color_limits = {};  ///< of map stages; others fit their maps
  bool weighs_values = false;  ///< the big heatmap shows weights as the norms of what they add
  RowNames row_names = RowNames::Written;
  attention::Pooling pooling = attention::Pooling::Max;  ///< of weights, where a pixel covers several cells
  GridOrder grid_order = GridOrder::ByLayer;
  PaintReach paint_reach = PaintReach::ThisHead;
  BrushShape brush_shape = BrushShape::Cell;
  BrushInk brush_ink = BrushInk::Mask;
  float brush_bias = 2.0f;         ///< of BrushInk::Bias, −kMostBias … kMostBias
  float brush_weight = 1.0f;       ///< of BrushInk::Pattern, 0 … 1
  bool show_numbers = true;        ///< in the cells, where they fit
  bool shows_whole_words = false;  ///< below a translator's texts: the words of a tokenizer of whole words
  bool steps_all_heads = false;    ///< Steps shows whole matrices, cut into heads and put together again
  Theme theme = Theme::Dark;
  float ui_scale = 0.0f;                  ///< 0: the monitor's own; else a factor, 0.5 … 4
  std::optional<attention::Cell> pinned;  ///< the cell whose crosshair stays when the pointer leaves
  std::optional<LockedToken> locked;      ///< the token whose row or column stays chosen
  LineChoices lines;
  MapSide text_side =
      MapSide::Query;  ///< of running text: shaded by what a token attends to (Query), or by what attends to it
  SpecialTokens special_tokens = SpecialTokens::Shown;
  bool groups_words = false;     ///< the big heatmap has a row and a column for each word instead of each token
  bool shows_marginals = false;  ///< bars beside the big heatmap: mean attention given and received

  bool operator==(const ViewChoices&) const = default;
};

/// Limits of the playground's settings.
inline constexpr std::uint32_t kMostGeneratedTokens = 4'096;
inline constexpr float kLeastTemperature = 0.01f, kMostTemperature = 10.0f;
inline constexpr std::uint32_t kMostTopK = 1'000'000;

/// How a text is continued.
struct GenerationChoices {
  inference::SamplingSettings sampling;
  std::uint32_t tokens = 40;  ///< at most

  bool operator==(const GenerationChoices&) const = default;
};

/// What the neuron view shows: the products of one query with one key, or with every key.
enum class NeuronForm : std::uint8_t { Pair, AllKeys };
/// The order of the products qᵢ · kᵢ of a pair.
enum class ProductOrder : std::uint8_t { ByComponent, BySize };

/// The neuron view's own settings. Its query and key are the pinned cell.
struct NeuronChoices {
  NeuronForm form = NeuronForm::Pair;
  ProductOrder order = ProductOrder::ByComponent;

  bool operator==(const NeuronChoices&) const = default;
};

inline constexpr float kLeastBlockSpeed = 0.25f, kMostBlockSpeed = 4.0f;

/// The block view's own settings.
struct BlockChoices {
  std::string opened = {};      ///< id of the matrix that is unfolded: "scores"; empty: the whole layer is shown
  bool reduces_motion = false;  ///< the walk's steps, and on the map the rows of written tokens, change without movement
  float speed = 1.0f;           ///< of both, kLeastBlockSpeed … kMostBlockSpeed

  bool operator==(const BlockChoices&) const = default;
};

/// The logits view's own settings. Its position is the predictions', its head the selected one. Ids that the model doesn't
/// have count as none.
struct LogitsChoices {
  std::optional<std::uint32_t> token = {};  ///< id of the next token whose logit is explained; none: the likeliest
  std::optional<std::uint32_t> other = {};  ///< the logit's difference from this token's; none: the logit itself
  bool sums_heads = true;                   ///< source tokens of all heads; else of the selected head

  bool operator==(const LogitsChoices&) const = default;
};

/// What the flow view traces back: contributions (information-flow routes), attention rollout, or a maximum flow.
enum class FlowMethod : std::uint8_t { Routes, Rollout, MaximumFlow };

inline constexpr float kLeastFlowThreshold = 0.001f, kMostFlowThreshold = 0.5f;

/// The flow view's own settings. Its position is the predictions'.
struct FlowChoices {
  FlowMethod method = FlowMethod::Routes;
  /// Edges below are left out, kLeastFlowThreshold … kMostFlowThreshold; none: automatic, as the graph has edges.
  std::optional<float> threshold = {};
  float residual_weight = 0.5f;  ///< of rollout and maximum flow: the residual stream's share of a layer, 0 … 1

  bool operator==(const FlowChoices&) const = default;
};

/// Dropout in the pass, as training has it: off until there is a probability.
struct DropoutChoices {
  float probability = 0.0f;  ///< 0 … attention::kMaxDropout
  std::uint32_t seed = 1;
  bool weights = true;     ///< after softmax
  bool embeddings = true;  ///< the token vectors with their positions, before the first layer
  bool branches = true;    ///< what attention and feed-forward return, before the residual is added
  bool inner = true;       ///< the feed-forward's inner layer, after its activation

  bool is_on() const { return probability > 0.0f && (weights || embeddings || branches || inner); }
  bool operator==(const DropoutChoices&) const = default;
};

/// The texts and settings of sources that aren't shown; of the shown one the default.
struct KeptSources {
  Playground playground;
  Model model;  ///< without path, text and ids: what the next opened model takes over

  bool operator==(const KeptSources&) const = default;
};

/// The inputs of a forward pass. Equal values give equal results.
struct RunInputs {
  /// Without masks of its own, and the playground's key_text only where the text attends to it (as `cross` says).
  Source source;
  attention::MaskSet masks;
  inference::HeadGains gains;
  inference::FixedPatterns patterns;
  KeptChanges changes;
  DropoutChoices dropout;  ///< the default where it is off

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

/// What is compared (app/state/comparison.h).
struct CompareChoices {
  SharedValue<BaselineRun> baseline = {};  ///< none: nothing is
  /// The baseline is that of a second text, whose other choices are always the present ones (follow_second_text()).
  bool is_second_text = false;
  bool shows_difference = true;  ///< maps show the present run minus the baseline; else the present run

  bool operator==(const CompareChoices&) const = default;
};

/// All choices of the user: compared, copied, saved and undone as one value. It contains no computed results.
struct State {
  Source source;
  KeptSources kept;
  attention::MaskSet masks;           ///< of the shown source
  inference::HeadGains gains;         ///< scaled or knocked-out heads; others have 1
  inference::FixedPatterns patterns;  ///< of heads whose pattern is replaced
  KeptChanges changes;                ///< patches and steering vectors
  DropoutChoices dropout;
  GenerationChoices generation;
  Selection selection;
  ViewChoices view;
  NeuronChoices neuron;
  BlockChoices block;
  HeadChoices heads;
  LogitsChoices logits;
  FlowChoices flow;
  CompareChoices compare;
  WhatIfChoices what_if;
  PatchingChoices patching;
  SideBySideChoices side_by_side;

  // Compiled once, in state.cpp, instead of in each of some fifty sources that copy, compare or drop a state.
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();
  bool operator==(const State&) const;

  /// The playground, shown or kept.
  Playground& playground();
  const Playground& playground() const;
  /// The shown model, or the settings that the next opened one takes over.
  Model& model();
  const Model& model() const;
  /// The text of the shown source, which the next one takes over; beside a notebook the playground's.
  std::string& text();
  const std::string& text() const;
};

/// The first text box's action in the next frame: none, or take the keyboard with the caret at the end of the text or
/// with the whole text selected. In the order of shell::FieldFocus.
enum class TextFocus : std::uint8_t { None, AtEnd, SelectAll };

/// Where the next strongest cell is looked for: in the pinned cell's row or column, or in the whole map.
enum class StrongestOf : std::uint8_t { Row, Column, Map };

/// Rows and columns of the big heatmap, all of which count.
struct CellRange {
  attention::Cell first, last;  ///< the upper left and the lower right cell

  auto operator<=>(const CellRange&) const = default;
};

/// The search for tokens of the big heatmap.
struct TokenSearch {
  bool is_open = false;     ///< its bar is shown
  bool takes_keys = false;  ///< the bar's field takes the keyboard in the next frame
  std::string text = {};
  int steps = 0;  ///< finds to go on by, backwards where negative; set by commands, cleared by the map
};

/// What a lesson's card points at. It changes how things are shown, and no choice of the user.
struct Aim {
  std::string control = {};    ///< name of a widget that is outlined: "mask.fill.1"; the section that has it is unfolded
  std::string matrix = {};     ///< id of the matrix that Steps scrolls to: "scaled", "w_q"
  bool scrolls = false;        ///< the card has just been opened: whoever draws the control or the matrix scrolls to it
  bool shows_indices = false;  ///< axes number their tokens, from 0
  bool conceals = false;       ///< cells of maps are blank: the user is asked what is in them

  bool operator==(const Aim&) const = default;
};

/// State of pointer and keyboard, neither undone nor saved.
struct Transient {
  Aim aim;
  std::optional<attention::Cell> hovered;  ///< under the pointer, in `hovered_stage`'s matrix
  attention::Stage hovered_stage = attention::Stage::Weights;
  /// The token whose chip is under the pointer, as a row and as a column of the map; set and cleared by the text panel.
  std::optional<std::uint32_t> pointed_query, pointed_key;
  /// The row whose weights shade the keys' chips: under the pointer on the map or among the chips, else the pinned one.
  std::optional<std::uint32_t> followed_query;
  float zoom = 1.0f;                           ///< of the big heatmap; 1 fits the area
  glm::vec2 pan{0.0F};                         ///< of the big heatmap, in cells
  std::optional<attention::Cell> reveals;      ///< the big heatmap moves until it shows the cell, and clears this
  std::optional<CellRange> range;              ///< dragged over the big heatmap; of its selected map
  std::optional<CellRange> visible;            ///< of the big heatmap on screen; set by it, cleared each frame
  std::optional<StrongestOf> seeks_strongest;  ///< set by commands; cleared by the map, which pins the cell
  /// The head with the highest value is selected as soon as it is known; set by commands, cleared by the window.
  std::optional<evaluation::HeadMetric> seeks_head;
  TokenSearch search;
  std::optional<NumberRef> pointed_number;  ///< under the pointer, or held, in the view on screen; cleared each frame
  std::optional<NumberRef> asked_number;    ///< where it is from is told in a window of its own, until that is closed
  std::optional<LockedToken> token_menu;    ///< a menu of this token is opened at the pointer; cleared by the window
  bool paints = false;                      ///< the brush is on: the left button masks and unmasks cells of the big heatmap
  TextFocus text_focus = TextFocus::None;   ///< cleared by the text box
  bool focuses_second_text = false;         ///< its box takes the keyboard in the next frame, and clears this
};

RunInputs run_inputs(const State& state);

/// Change the source alone: the text goes over, settings are kept, masks and the rest of the state stay.
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

/// 1 where it wasn't changed.
float head_gain(const State& state, model::BlockRef block, std::uint32_t head);
/// A gain of 1 is removed, so that setting it back leaves no entry.
void set_head_gain(State& state, model::BlockRef block, std::uint32_t head, float gain);

/// The pattern that takes the place of the head's own.
std::optional<attention::ReplacementPattern> fixed_pattern(const State& state, model::BlockRef block, std::uint32_t head);

/// The mask that panels edit: of the selected block's kind.
attention::MaskSpec& selected_mask(State& state);
const attention::MaskSpec& selected_mask(const State& state);

/// The masks of a source that reset_masks() restores: no rule, no matrix, nothing painted, and key padding (playground), or
/// the notebook's or the model's own masks.
const attention::MaskSet& trained_masks(const Source& source);
void reset_masks(State& state);
/// The model's trained masks, no gains, no replaced patterns and the notebook's own numbers: the initial state of a new
/// start, a preset and an opened model.
void restore_training(State& state);

/// What the user changed of the shown notebook; empty beside other sources.
const inference::NotebookEdits& notebook_edits(const Source& source);
/// Changes the shown notebook. Masks that are the notebook's own become those that its changed recipe makes.
void edit_notebook(State& state, inference::NotebookEdits edits);

/// Blocks of a run with their sizes, as the engine reports them.
using BlockShapes = std::map<model::BlockRef, inference::BlockShape>;
/// Selects one head's map, also where a mean was shown.
void select_head(Selection& selection, model::BlockRef block, std::uint32_t head);

/// Pins a head in the views of all heads, or unpins it. At most kMostPinnedHeads are kept.
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
