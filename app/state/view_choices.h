#pragma once

// The display settings and those of single views: parts of State.

#include "attention/painted_cells.h"
#include "attention/stage.h"
#include "chart/value_scale.h"
#include "evaluation/head_layout.h"
#include "evaluation/head_metric.h"
#include "model/config.h"
#include "model/site.h"

namespace headlight::app {

/// The view that a new state shows: one head's heatmap. It has the brush and the means over heads.
inline constexpr const char* kHeadView = "head";

enum class Theme : std::uint8_t { Dark, Light, HighContrast };
/// The top of the colour bar: the whole map's range, or each row's own largest value.
enum class ColorRange : std::uint8_t { Largest, PerRow, Quantile };
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

using evaluation::HeadRef;

/// The selected map.
struct Selection {
  model::BlockRef block;
  std::uint32_t batch = 0;
  std::uint32_t head = 0;
  HeadMean mean = HeadMean::None;  ///< of weights on the big heatmap; everything else shows `head`

  HeadRef head_ref() const { return {.block = block, .head = head}; }
  auto operator<=>(const Selection&) const = default;
};

/// A part of the window's middle: a view, or two parts beside or above each other. All views but one are named here; that
/// one has the keyboard and is ViewChoices::tab.
struct ViewPane {
  std::string view = {};                 ///< id of a view; empty: the pane that has the keyboard
  std::optional<Selection> pinned = {};  ///< what it shows whatever is selected; none: it follows the selection
  bool is_column = false;                ///< its parts are one above the other, else side by side
  float share = 0.5F;                    ///< of the first part
  std::vector<ViewPane> parts = {};      ///< none, or two

  bool operator==(const ViewPane&) const = default;
};

inline constexpr std::size_t kMaxPinnedHeads = 4'096;

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

  bool operator==(const HeadChoices&) const = default;
};

/// The display settings.
struct ViewChoices {
  /// The id of the view that has the keyboard (app/views/view_table.h); an unknown one: the first view.
  std::string tab = kHeadView;
  ViewPane panes;                                                    ///< the views on screen
  attention::Stage heatmap_stage = attention::Stage::Weights;        ///< a map stage: scores, scaled, masked or weights
  std::map<attention::Stage, chart::ValueLimits> color_limits = {};  ///< of map stages; others fit their maps
  bool weighs_values = false;  ///< the big heatmap shows weights as the norms of what they add
  Theme theme = Theme::Dark;
  float ui_scale = 0.0f;                  ///< 0: the monitor's own; else a factor, 0.5 … 4
  std::optional<attention::Cell> pinned;  ///< the cell whose crosshair stays when the pointer leaves
  std::optional<LockedToken> locked;      ///< the token whose row or column stays chosen
  LineChoices lines;

  bool operator==(const ViewChoices&) const = default;
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

}  // namespace headlight::app
