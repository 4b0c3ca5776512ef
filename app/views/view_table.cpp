#include "app/views/view_table.h"

#include "app/widgets/shown_tile.h"
#include "attribution/additive_stack.h"
#include "attribution/frozen_reader.h"

namespace headlight::app {

// Each is in the view's own folder.
OpenView open_block_view, open_checkpoints_view, open_corpus_view, open_flow_view, open_head_view, open_heads_view,
    open_lines_view, open_logits_view, open_model_view, open_neuron_view, open_notebook_view, open_patching_view,
    open_predictions_view, open_prompts_view, open_side_by_side_view, open_steps_view, open_text_view, open_what_if_view,
    open_why_view;
/// Folds the unfolded matrix of the view Block; false: none is.
bool fold_block(State& state);
bool fold_steps(State& state);

namespace {

using shell::Key;

/// Has the run the stage? A capture has the stages that were saved.
bool has_stage(const Frame& frame, attention::Stage stage) {
  const inference::BlockShape* shape = selected_shape(frame);
  return !frame.result.capture || (shape && shape->extent(stage));
}

std::string why_no_steps(const Frame& frame) {
  if (has_stage(frame, attention::Stage::Scores) || has_stage(frame, attention::Stage::V)) return {};
  return "This capture has weights alone. The steps need queries and keys (q.0, k.0, \u2026) or values (v.0, \u2026). In "
         "Python, headlight.capture(model, \u2026) keeps them.";
}

std::string why_no_products(const Frame& frame) {
  if (has_stage(frame, attention::Stage::Scores)) return {};
  return "This capture has weights alone. Products need queries and keys (q.0, k.0, \u2026).";
}

std::string why_no_network(const Frame& frame) {
  if (!frame.result.capture) return {};
  return "A capture has no network. This view needs the network's weights, to compute with them; a capture has what was "
         "saved of its attention.";
}

std::string why_no_predictions(const Frame& frame) {
  if (frame.result.capture || frame.result.has_logits) return why_no_network(frame);
  return is_model(frame.state.source) ? "This model predicts no tokens. Its files have no head over the vocabulary."
                                      : "This network predicts no tokens. It ends with its last attention, and its weights "
                                        "are random or a notebook's.";
}

std::string why_no_next_token(const Frame& frame) {
  if (std::string why = why_no_predictions(frame); !why.empty()) return why;
  const bool is_causal = frame.result.model && frame.result.model->description.is_causal;
  if (frame.result.input->target) {
    return "Sets of prompts are for models of one text. Each prompt asks for the next word of its text; a translator needs "
           "a "
           "source too.";
  }
  return is_causal ? ""
                   : "Sets of prompts are for decoders. Each prompt asks for the next word of its text; this model "
                     "fills in words.";
}

std::string why_no_parts_of_logits(const Frame& frame) {
  if (std::string why = why_no_predictions(frame); !why.empty()) return why;
  const std::string why = frame.result.network ? attribution::why_not_attributable(*frame.result.network) : std::string();
  if (why.empty()) return {};
  return fmt::format(
      "This view doesn't take this model's logits apart. The reason: {}. It works for a model of one stack with a norm "
      "before each branch, like GPT-2.",
      why);
}

std::string why_no_parts_of_scores(const Frame& frame) {
  if (std::string why = why_no_network(frame); !why.empty() || !selected_shape(frame)) return why;
  const std::string why =
      frame.result.network ? attribution::why_no_writers(*frame.result.network, frame.state.selection.block) : std::string();
  return why.empty() ? "" : fmt::format("This view doesn't take this head's scores apart. Of this network, {}.", why);
}

std::string why_no_single_stack(const Frame& frame) {
  if (!frame.result.network) return {};
  const auto& layers = *frame.result.network->layers;
  if (!layers.encoder.empty() && layers.decoder.empty()) return {};
  return "This network has two texts or two stacks. The view follows what one stack of layers makes of one text.";
}

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

constexpr std::string_view kCellKeys = "Ctrl+arrows cell", kTokenKeys = "Shift \u2191 \u2193 token";

constexpr std::array kViews = {
    View{.id = "head",
         .title = "Head",
         .group = "Look",
         .help = "One head's map, large.",
         .key = {Key::Digit1, {}, "1"},
         .open = &open_head_view,
         .exported = &shown_map,
         .keys = kCellKeys,
         .menus_of = kOfHead},
    View{.id = "lines",
         .title = "Lines",
         .group = "Look",
         .help = "The heads of a layer as lines from queries to keys, as opaque as the weights are large.",
         .key = {Key::Digit4, {}, "4"},
         .open = &open_lines_view,
         .exported = &only_weights,
         .keys = kTokenKeys,
         .menus_of = kOfHead},
    View{.id = "text",
         .title = "Text",
         .group = "Look",
         .help = "The text itself, shaded by what one of its tokens attends to, or by what attends to it.",
         .key = {Key::Digit5, {}, "5"},
         .open = &open_text_view,
         .exported = &only_weights,
         .keys = kTokenKeys,
         .words = "attends to, is attended by, mean of all"},
    View{.id = "side_by_side",
         .title = "Side by side",
         .group = "Look",
         .help = "Two heads, or one head in this run and in the baseline, with the same zoom, pointer and colours.",
         .key = {Key::J, {}, "J"},
         .open = &open_side_by_side_view,
         .exported = &only_weights,
         .keys = kCellKeys,
         .words = "Swap, Put here, Beside it, another head, the layer\u2019s mean",
         .menus_of = kOfHead},
    View{.id = "block",
         .title = "Block",
         .group = "Compute",
         .help = "A whole layer as data flow, from the residual stream through attention and the MLP back to it.",
         .key = {Key::Digit9, {}, "9"},
         .open = &open_block_view,
         .exported = &every_stage,
         .keys = "Space plays \u00B7 , . step \u00B7 Enter opens",
         .fold = &fold_block,
         .words = "Play, Pause, Fold, largest |x|, massive activations",
         .menus_of = kOfHead,
         .why_empty = &why_no_network},
    View{.id = "steps",
         .title = "Steps",
         .group = "Compute",
         .help = "The attention of one head, matrix by matrix from Q, K and V to the output.",
         .key = {Key::Digit2, {}, "2"},
         .open = &open_steps_view,
         .exported = &every_stage,
         .keys = "Page \u2191 \u2193 matrix \u00B7 Ctrl+arrows cell",
         .takes_pages = true,
         .fold = &fold_steps,
         .menus_of = kOfCell | kOfHead,
         .why_empty = &why_no_steps},
    View{.id = "neuron",
         .title = "Neuron",
         .group = "Compute",
         .help = "One query and one key of a head, product by product, and how their sum becomes a weight.",
         .key = {Key::Digit8, {}, "8"},
         .open = &open_neuron_view,
         .exported = &parts_of_scores,
         .keys = kCellKeys,
         .menus_of = kOfCell,
         .why_empty = &why_no_products},
    View{
        .id = "notebook",
        .title = "Notebook",
        .group = "Compute",
        .help = "The cells of a notebook: every number that it prints beside what this pass computes.",
        .key = {Key::E, {}, "E"},
        .open = &open_notebook_view,
        .exported = &every_stage,
        .keys = "\u2191 \u2193 cells \u00B7 Home End",
        .takes_arrows = true,
        .words = "printed numbers, equal, difference, preset, open notebook, Back to the notebook\u2019s numbers, Change it",
        .shows_all_heads = true},
    View{.id = "heads",
         .title = "Heads",
         .group = "Heads",
         .help = "What every head does: metrics, who looks from one token to another, patterns, similar heads, composition, "
                 "tokens.",
         .key = {Key::Digit7, {}, "7"},
         .open = &open_heads_view,
         .exported = &shown_map,
         .keys = "\u2191 \u2193 heads \u00B7 \u2190 \u2192 order \u00B7 Enter opens \u00B7 Space pins",
         .takes_arrows = true,
         .words = "Show all heads, Draw, minus chance, arcs, vocabulary, OV, QK, promotes, suppresses"},
    View{.id = "model",
         .title = "Model",
         .group = "Heads",
         .help = "Every head of every layer, large enough to read, in the order of what they do.",
         .key = {Key::Digit6, {}, "6"},
         .open = &open_model_view,
         .exported = &shown_map,
         .keys = "arrows heads \u00B7 Enter opens \u00B7 Space pins \u00B7 , . token",
         .takes_arrows = true,
         .shows_all_heads = true},
    View{
        .id = "corpus",
        .title = "Corpus",
        .group = "Heads",
        .help =
            "What every head does over a whole corpus: a survey's heads as dots, by layer, as a table, and a page for each.",
        .key = {Key::U, {}, "U"},
        .open = &open_corpus_view,
        .exported = &shown_map,
        .keys = "\u2191 \u2193 heads \u00B7 Enter opens",
        .takes_arrows = true,
        .words = "Scatter, By layer, survey, lasso, decile, Survey a text, notes, Cancel, Go on"},
    View{.id = "checkpoints",
         .title = "Checkpoints",
         .group = "Heads",
         .help = "What every head does over the steps of a training: metrics, loss and logged numbers as curves.",
         .key = {Key::G, {}, "G"},
         .open = &open_checkpoints_view,
         .exported = &shown_map,
         .words = "training, steps, curves, loss, in-context score, log axis, Pause"},
    View{.id = "predictions",
         .title = "Predictions",
         .group = "Why",
         .help = "What the model expects at a position in the text, and what each layer would.",
         .key = {Key::Digit3, {}, "3"},
         .open = &open_predictions_view,
         .exported = &only_logits,
         .words = "every position, every layer, loss by position, in-context score, lens grid, tuned lens, Fill the mask",
         .why_empty = &why_no_predictions},
    View{.id = "logits",
         .title = "Logits",
         .group = "Why",
         .help = "What a prediction is made of: the logit by layer, by head and by source token.",
         .key = {Key::L, {}, "L"},
         .open = &open_logits_view,
         .exported = &only_logits,
         .words = "all heads",
         .why_empty = &why_no_parts_of_logits},
    View{.id = "flow",
         .title = "Flow",
         .group = "Why",
         .help = "Which tokens, layers and heads a prediction comes from: routes, rollout or flow.",
         .key = {Key::F, {}, "F"},
         .open = &open_flow_view,
         .exported = &shown_map,
         .keys = "arrows walk through the graph \u00B7 Enter opens",
         .takes_arrows = true,
         .words = "routes, rollout, flow",
         .why_empty = &why_no_single_stack},
    View{.id = "why",
         .title = "Why here",
         .group = "Why",
         .help = "Why a query looks at a key: the score by what wrote the query and what wrote the key.",
         .key = {Key::Y, {}, "Y"},
         .open = &open_why_view,
         .exported = &parts_of_scores,
         .words = "writers, pairs, less the row\u2019s mean, raw, weight without, source tokens, trail",
         .menus_of = kOfCell,
         .why_empty = &why_no_parts_of_scores},
    View{.id = "what_if",
         .title = "What if",
         .group = "Why",
         .help = "What would change about a prediction or the loss without each head, one by one.",
         .key = {Key::W, {}, "W"},
         .open = &open_what_if_view,
         .exported = &only_logits,
         .words = "Average, Stop averaging, knocked out, mean of the text, mean of the baseline",
         .why_empty = &why_no_predictions},
    View{.id = "patching",
         .title = "Patching",
         .group = "Why",
         .help = "Where two texts differ for the model: activations of one run put into the other, place by place.",
         .key = {Key::A, {}, "A"},
         .open = &open_patching_view,
         .exported = &only_logits,
         .words = "Keep this patch, Drop, Steer, Give the mean, Strongest, Take, residual stream, heads, paths",
         .why_empty = &why_no_predictions},
    View{.id = "prompts",
         .title = "Prompts",
         .group = "Why",
         .help = "Every experiment over a set of prompts: the mean, the spread, and the prompts at their ends.",
         .key = {Key::R, {}, "R"},
         .open = &open_prompts_view,
         .exported = &only_logits,
         .words = "sets, IOI, greater-than, docstring, knock-outs, attribution, Cancel, Go on, Read again, Strongest",
         .why_empty = &why_no_next_token},
};

}  // namespace

std::span<const View> views() { return kViews; }

const View& find_view(std::string_view id) {
  const auto* found = std::ranges::find(kViews, id, &View::id);
  return found == kViews.end() ? kViews.front() : *found;
}

std::string why_empty(const View& view, const Frame& frame) {
  return view.why_empty && frame.result.run != 0 ? view.why_empty(frame) : std::string();
}

}  // namespace headlight::app
