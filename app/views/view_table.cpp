#include "app/views/view_table.h"

#include <algorithm>
#include <array>

#include "app/quantities/shown_map.h"
#include "app/views/block/block_view.h"
#include "app/views/flow/flow_view.h"
#include "app/views/head/head_view.h"
#include "app/views/heads/heads_view.h"
#include "app/views/lines/lines_view.h"
#include "app/views/logits/logits_view.h"
#include "app/views/model/model_view.h"
#include "app/views/neuron/neuron_view.h"
#include "app/views/patching/patching_view.h"
#include "app/views/predictions/predictions_view.h"
#include "app/views/side_by_side/side_by_side_view.h"
#include "app/views/steps/steps_view.h"
#include "app/views/text/text_view.h"
#include "app/views/what_if/what_if_view.h"

namespace headlight::app {
namespace {

using shell::Key;

constexpr std::array<std::string_view, 18> kHeadSettings = {
    "selection.mean",    "view.heatmap_stage", "view.color_range",  "view.color_spread",   "view.color_limits",
    "view.show_numbers", "view.row_names",     "view.paint_reach",  "view.brush_shape",    "view.pinned",
    "view.pooling",      "view.locked",        "view.groups_words", "view.special_tokens", "view.shows_marginals",
    "view.brush_ink",    "view.brush_bias",    "view.brush_weight"};
constexpr std::array<std::string_view, 3> kStepsSettings = {"view.show_numbers", "view.color_limits", "view.pinned"};
constexpr std::array<std::string_view, 4> kLinesSettings = {"lines.hidden_heads", "lines.threshold", "lines.pair_part",
                                                            "view.locked"};
constexpr std::array<std::string_view, 3> kTextSettings = {"selection.mean", "view.text_side", "view.locked"};
constexpr std::array<std::string_view, 9> kHeadsSettings = {
    "heads.score", "heads.excludes_first", "heads.excludes_current", "heads.order", "heads.lowest_first",
    "heads.filter",  "heads.least",          "heads.only_pinned",      "heads.pinned"};
constexpr std::array<std::string_view, 15> kFindSettings = {
    "heads.score", "heads.excludes_first", "heads.excludes_current", "heads.order",          "heads.lowest_first",
    "heads.filter",  "heads.least",          "heads.only_pinned",      "heads.pinned",         "heads.mode",
    "heads.pattern", "heads.typed_pattern",  "heads.subtracts_chance", "heads.groups_similar", "heads.circuit_score"};
constexpr std::array<std::string_view, 2> kPredictionsSettings = {"generation", "view.pinned"};
constexpr std::array<std::string_view, 4> kBlockSettings = {"block.opened", "block.reduces_motion", "block.speed",
                                                            "view.pinned"};
constexpr std::array<std::string_view, 3> kNeuronSettings = {"neuron.form", "neuron.order", "view.pinned"};
constexpr std::array<std::string_view, 4> kLogitsSettings = {"logits.token", "logits.other", "logits.sums_heads",
                                                             "view.pinned"};
constexpr std::array<std::string_view, 4> kFlowSettings = {"flow.method", "flow.threshold", "flow.residual_weight",
                                                           "view.pinned"};

constexpr std::array<std::string_view, 6> kWhatIfSettings = {"what_if.measure", "what_if.ablation", "what_if.is_sorted",
                                                             "logits.token",    "logits.other",     "view.pinned"};

constexpr std::array<std::string_view, 13> kPatchingSettings = {
    "patching.map",       "patching.into_frozen", "patching.measure",   "patching.token",      "patching.at_token",
    "patching.path_kind", "patching.path_layer",  "patching.path_head", "patching.path_input", "patching.path_mlps",
    "logits.token",       "logits.other",         "view.pinned"};

constexpr std::array<std::string_view, 7> kSideBySideSettings = {
    "selection.mean",    "side_by_side.right", "side_by_side.layer", "side_by_side.head",
    "view.color_spread", "view.show_numbers",  "view.pinned"};

bool has_run(const Frame& frame) { return frame.result.run != 0; }
/// Not of a capture, which holds attention alone.
bool has_network(const Frame& frame) { return has_run(frame) && !frame.result.capture; }
/// Of a capture what was saved decides.
bool has_stage(const Frame& frame, attention::Stage stage) {
  const auto shape = frame.result.shapes.find(frame.state.selection.block);
  return !frame.result.capture || (shape != frame.result.shapes.end() && shape->second.extent(stage));
}
bool has_scores(const Frame& frame) { return has_run(frame) && has_stage(frame, attention::Stage::Scores); }
bool has_steps(const Frame& frame) { return has_scores(frame) || (has_run(frame) && has_stage(frame, attention::Stage::V)); }

ExportContents shown_map(const State& state) { return {.stages = {shown_stage(state)}}; }

ExportContents only_weights(const State&) { return {.stages = {attention::Stage::Weights}}; }

ExportContents every_stage(const State&) {
  ExportContents contents{.stages = {}};
  for (std::size_t i = 0; i < attention::kStages; ++i) contents.stages.push_back(static_cast<attention::Stage>(i));
  return contents;
}

ExportContents parts_of_scores(const State&) {
  using attention::Stage;
  return {.stages = {Stage::Q, Stage::K, Stage::Scores, Stage::Scaled, Stage::Weights}};
}

ExportContents only_logits(const State&) { return {.stages = {}, .logits = true}; }

constexpr std::array kViews = {
    View{"head",
         "Head",
         "One head's map, large.",
         {Key::Digit1, {}, "1"},
         kHeadSettings,
         &has_run,
         &open_head_view,
         &shown_map},
    View{"steps",
         "Steps",
         "The attention of one head, matrix by matrix from Q, K and V to the output.",
         {Key::Digit2, {}, "2"},
         kStepsSettings,
         &has_steps,
         &open_steps_view,
         &every_stage,
         false,
         nullptr,
         "The steps need queries and keys (q.0, k.0, \u2026) or values (v.0, \u2026); this capture has weights alone."},
    View{"predictions",
         "Predictions",
         "What the model expects at a position in the text, and what each layer would.",
         {Key::Digit3, {}, "3"},
         kPredictionsSettings,
         &has_network,
         &open_predictions_view,
         &only_logits},
    View{"lines",
         "Lines",
         "The heads of a layer as lines from queries to keys, as opaque as the weights are large.",
         {Key::Digit4, {}, "4"},
         kLinesSettings,
         &has_run,
         &open_lines_view,
         &only_weights},
    View{"text",
         "Text",
         "The text itself, shaded by what one of its tokens attends to, or by what attends to it.",
         {Key::Digit5, {}, "5"},
         kTextSettings,
         &has_run,
         &open_text_view,
         &only_weights},
    View{"model",
         "Model",
         "Every head of every layer, large enough to read, in the order of what they do.",
         {Key::Digit6, {}, "6"},
         kHeadsSettings,
         &has_run,
         &open_model_view,
         &shown_map,
         true},
    View{"heads",
         "Heads",
         "What every head does: metrics, who looks from one token to another, patterns, similar heads, composition.",
         {Key::Digit7, {}, "7"},
         kFindSettings,
         &has_run,
         &open_heads_view,
         &shown_map,
         true},
    View{"neuron",
         "Neuron",
         "One query and one key of a head, product by product, and how their sum becomes a weight.",
         {Key::Digit8, {}, "8"},
         kNeuronSettings,
         &has_scores,
         &open_neuron_view,
         &parts_of_scores,
         false,
         nullptr,
         "Products need queries and keys (q.0, k.0, \u2026); this capture has weights alone."},
    View{"block",
         "Block",
         "A whole layer as data flow, from the residual stream through attention and the MLP back to it.",
         {Key::Digit9, {}, "9"},
         kBlockSettings,
         &has_network,
         &open_block_view,
         &every_stage,
         false,
         &fold_block},
    View{"logits",
         "Logits",
         "What a prediction is made of: the logit by layer, by head and by source token.",
         {Key::L, {}, "L"},
         kLogitsSettings,
         &has_network,
         &open_logits_view,
         &only_logits},
    View{"flow",
         "Flow",
         "Which tokens, layers and heads a prediction comes from: routes, rollout or flow.",
         {Key::F, {}, "F"},
         kFlowSettings,
         &has_run,
         &open_flow_view,
         &shown_map,
         true},
    View{"knockouts",
         "What if",
         "What would change about a prediction or the loss without each head, one by one.",
         {Key::W, {}, "W"},
         kWhatIfSettings,
         &has_network,
         &open_what_if_view,
         &only_logits},
    View{"patching",
         "Patching",
         "Where two texts differ for the model: activations of one run put into the other, place by place.",
         {Key::A, {}, "A"},
         kPatchingSettings,
         &has_network,
         &open_patching_view,
         &only_logits},
    View{"pair",
         "Side by side",
         "Two heads, or one head in this run and in the frozen one, with the same zoom, pointer and colours.",
         {Key::J, {}, "J"},
         kSideBySideSettings,
         &has_run,
         &open_side_by_side_view,
         &only_weights},
};

}  // namespace

std::span<const View> views() { return kViews; }

const View& find_view(std::string_view id) {
  const auto* found = std::ranges::find(kViews, id, &View::id);
  return found == kViews.end() ? kViews.front() : *found;
}

}  // namespace headlight::app
