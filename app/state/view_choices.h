#pragma once

// The display settings and those of single views: parts of State.

#include "attention/painted_cells.h"
#include "attention/stage.h"
#include "evaluation/head_layout.h"
#include "evaluation/head_metric.h"
#include "model/config.h"
#include "model/site.h"
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
inline constexpr float kMinLineWeight = 1e-4F, kMaxLineWeight = 1.0F;

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

using evaluation::HeadRef;
inline constexpr std::size_t kMaxPinnedHeads = 4'096;

/// What the heads view compares heads by: their metrics; the weight from one token to another; how well they match a
/// pattern; how alike their weights are; or what their parameters say without any text: of other heads, or of the tokens of
/// the vocabulary.
enum class HeadsMode : std::uint8_t { Metrics, FromTo, Pattern, Similarity, Composition, Vocabulary, Retrieval };
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

inline constexpr std::uint32_t kMaxCircuitDistance = 100'000;
inline constexpr std::uint32_t kMinNeedleText = 32, kMaxNeedleText = 32'768, kMaxNeedleSeed = 9'999;

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
  bool draws_arcs = false;              ///< compositions of all heads as arcs; else of the selected head as a list
  std::optional<float> least_arc = {};  ///< the smallest score that is an arc, as FlowChoices::threshold; none: automatic
  std::optional<std::uint32_t> read_token = {};  ///< id whose circuits are shown; none: the selected position's
  bool has_distance = false;                     ///< queries and keys have their positions, so far apart; else none
  std::uint32_t distance = 1;                    ///< in tokens, from the query back to the key
  std::uint32_t needle_longest = 256;            ///< tokens of the longest texts with a needle
  std::uint32_t needle_seed = 1;
  bool needle_is_predicted = false;  ///< only tokens of a needle that the model predicts are copied

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
  float brush_bias = 2.0f;         ///< of BrushInk::Bias, −kMaxBias … kMaxBias
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

inline constexpr float kMinBlockSpeed = 0.25f, kMaxBlockSpeed = 4.0f;

/// The block view's own settings.
struct BlockChoices {
  std::string opened = {};         ///< id of the matrix that is unfolded: "scores"; empty: the whole layer is shown
  bool shows_activations = false;  ///< the largest numbers of the residual stream in place of the layer
  bool reduces_motion = false;     ///< the walk's steps, and on the map the rows of written tokens, change without movement
  float speed = 1.0f;              ///< of both, kMinBlockSpeed … kMaxBlockSpeed

  bool operator==(const BlockChoices&) const = default;
};

/// What the predictions view shows: one position with its bars and layers; a table of all positions; or the lens grid, every
/// layer at every position.
enum class PredictionsPart : std::uint8_t { Position, Positions, Layers };
/// What colours a cell of the lens grid: the probability of its likeliest token; the rank of one token; the entropy of what
/// it predicts; or how far that is from what the last layer predicts.
enum class LensColor : std::uint8_t { Probability, Rank, Entropy, Divergence };

/// The predictions view's own settings.
struct PredictionsChoices {
  PredictionsPart part = PredictionsPart::Position;
  LensColor lens_color = LensColor::Probability;
  std::optional<std::uint32_t> ranked = {};  ///< id of the ranked token; none: at each position the last layer's likeliest
  std::string lens = {};                     ///< file of a linear lens (model/linear_lens.h); empty: the logit lens

  bool operator==(const PredictionsChoices&) const = default;
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

inline constexpr float kMinFlowThreshold = 0.001f, kMaxFlowThreshold = 0.5f;

/// The flow view's own settings. Its position is the predictions'.
struct FlowChoices {
  FlowMethod method = FlowMethod::Routes;
  /// Edges below are left out, kMinFlowThreshold … kMaxFlowThreshold; none: automatic, as the graph has edges.
  std::optional<float> threshold = {};
  float residual_weight = 0.5f;  ///< of rollout and maximum flow: the residual stream's share of a layer, 0 … 1

  bool operator==(const FlowChoices&) const = default;
};

/// What the what-if view shows of each head: how much knocking it out changes the logit of a token (or its difference from
/// another token's), the token's probability, or the mean loss of the text.
enum class KnockoutMeasure : std::uint8_t { Logit, Probability, Loss };
/// What a head's output becomes in it: 0; its mean over the tokens of the text, which keeps what the head gives
/// everywhere; or its mean over those of the baseline.
enum class Ablation : std::uint8_t { Zero, Mean, BaselineMean };

/// The what-if view's own settings. Its tokens are the logits view's.
struct WhatIfChoices {
  KnockoutMeasure measure = KnockoutMeasure::Logit;
  Ablation ablation = Ablation::Zero;
  bool is_sorted = true;  ///< the list begins with the head that matters most; else by layer and head

  bool operator==(const WhatIfChoices&) const = default;
};

/// Where the patching view takes activations from one run to the other, cell by cell: the residual stream before each layer,
/// what attention or the feed-forward network adds, each for every layer and token; what single heads give; or what single
/// heads give to one input of another head, the receiver, and to nothing else (path patching); or the weights of the
/// selected head, one by one.
enum class PatchMap : std::uint8_t { Residual, AttentionOutput, FeedForward, Heads, Paths, Weights };
/// Is a cell of the map a head?
constexpr bool is_of_heads(PatchMap map) { return map == PatchMap::Heads || map == PatchMap::Paths; }
/// What is measured of a patched run: the logit of a token (or its difference from another token's), its probability, or its
/// loss −ln p.
enum class PatchMeasure : std::uint8_t { Logit, Probability, Loss };

/// What of the receiver's attention a path ends in.
enum class PathInput : std::uint8_t { Query, Key, Value };
/// The last layer, whichever number it has; of a PathReceiver: none was chosen.
inline constexpr std::uint32_t kLastLayer = 0xffff'fffeU;
/// The head in which the paths of path patching end, and how they get there. Until one is chosen the view looks for a strong
/// head into which visible paths lead, and for its input (find_receiver()). Beyond the last layer or head: the last one.
struct PathReceiver {
  model::BlockKind kind = model::BlockKind::EncoderSelf;
  std::uint32_t layer = kLastLayer, head = 0;
  PathInput input = PathInput::Query;
  bool recomputes_mlps = true;  ///< paths lead through MLPs as well; else they are baseline, as all other heads are

  bool is_chosen() const { return layer != kLastLayer; }
  bool operator==(const PathReceiver&) const = default;
};

/// The patching view's own settings. Its tokens are the logits view's.
struct PatchingChoices {
  PatchMap map = PatchMap::Residual;
  PatchMeasure measure = PatchMeasure::Logit;
  bool into_baseline = false;  ///< the present run's activations go into the baseline; else the baseline's into the present
  std::optional<std::uint32_t> token = {};     ///< the selected row of the map
  bool at_token = false;                       ///< heads are patched at that token alone; else at all
  model::Site part = model::Site::HeadOutput;  ///< of PatchMap::Heads, what of a head is put: a site with heads
  PathReceiver receiver = {};                  ///< of PatchMap::Paths

  bool operator==(const PatchingChoices&) const = default;
};

/// What the side-by-side view shows beside the selected head.
enum class SideMap : std::uint8_t {
  OtherHead,  ///< another head of the same kind of attention, in this run
  Baseline,   ///< the same head in the baseline
  LayerMean,  ///< the mean of the heads of its layer
};
struct SideBySideChoices {
  SideMap right = SideMap::OtherHead;
  bool is_chosen = false;             ///< the other head; else it is the one that attends least like the selected one
  std::uint32_t layer = 0, head = 1;  ///< of the other head; beyond the last one: the last one is shown

  bool operator==(const SideBySideChoices&) const = default;
};

/// What the corpus view shows of a survey: all heads as dots by two numbers, by layer, or as a table, or one head's page.
enum class CorpusMode : std::uint8_t { Scatter, Layers, Table, Head };
inline constexpr std::uint32_t kDeciles = 10;  ///< of the texts, by a metric

/// The corpus view's own settings. Names are those of metrics, or of other numbers of heads (HeadNumber); one that the
/// survey lacks counts as none.
struct CorpusChoices {
  std::string folder = {};  ///< of the survey that is open; empty: none
  CorpusMode mode = CorpusMode::Scatter;
  std::string x = {}, y = {};  ///< of the dots; empty: the first metric and the second one
  std::string color = {};      ///< of the dots; empty: the layer
  std::string order = {};      ///< of the table; empty: by layer and head
  std::string metric = {};     ///< whose examples are listed; empty: the first
  std::uint32_t decile = 0;    ///< examples of that tenth of the texts, 1 the lowest values; 0: the highest ones of all
  HeadRef chosen = {};         ///< the chosen head where the survey's model isn't on show
  bool lowest_first = false;   ///< of `order`

  bool operator==(const CorpusChoices&) const = default;
};

/// What is asked of every prompt of a set: what knocking out each head changes, what activations of the corrupted text
/// change, what a single head's do by way of another head's input, what the answer's logit is made of, what each layer
/// predicts, or what heads attend to.
enum class PromptExperiment : std::uint8_t { Knockouts, Patching, Paths, Attribution, Lens, Metrics };
/// What a layer's prediction says of the answer.
enum class LensMeasure : std::uint8_t { Probability, Rank, Logit };
/// The order in which prompts are listed: the file's, or by their number of the chosen cell.
enum class PromptOrder : std::uint8_t { File, Lowest, Highest };

/// The prompts view's own settings. What is measured of knock-outs and patches is the what-if view's and the patching
/// view's; of heads the chosen cell is the selected one.
struct PromptChoices {
  std::string set = {};  ///< a file, or the name of a set that comes along (is_prompt_file()); empty: none
  PromptExperiment experiment = PromptExperiment::Knockouts;
  LensMeasure lens = LensMeasure::Probability;
  evaluation::HeadMetric metric = evaluation::HeadMetric::Induction;
  std::uint32_t layer = kLastLayer;  ///< of the chosen cell where columns aren't heads; beyond the last one: the last one
  std::string position = {};         ///< its column there; empty: the end of the text, or the answer
  PromptOrder order = PromptOrder::File;

  bool operator==(const PromptChoices&) const = default;
};
/// Sets that come along have names without a dot and a slash.
inline bool is_prompt_file(const std::string& set) { return set.find_first_of("./\\") != std::string::npos; }

/// What the view of checkpoints draws over the steps of a training.
struct CheckpointChoices {
  evaluation::HeadMetric metric = evaluation::HeadMetric::Induction;  ///< of every head
  bool is_log = true;                                                 ///< the axis of steps

  bool operator==(const CheckpointChoices&) const = default;
};

}  // namespace headlight::app
