#include "state/unusual_state.h"

#include "app/state/block_settings.h"
#include "app/state/checkpoints_settings.h"
#include "app/state/corpus_settings.h"
#include "app/state/dropout_settings.h"
#include "app/state/heads_settings.h"
#include "app/state/logits_settings.h"
#include "app/state/map_settings.h"
#include "app/state/neuron_settings.h"
#include "app/state/notebook_settings.h"
#include "app/state/predictions_settings.h"
#include "app/state/prompts_settings.h"
#include "app/state/side_by_side_settings.h"
#include "app/state/what_if_settings.h"
#include "app/state/why_settings.h"
#include "support/expressions.h"

namespace headlight::test {

using namespace headlight::app;

State unusual_state() {
  State state;
  state.text() = "Gott würfelt nicht\nzwei";
  state.playground().key_text = "he does";
  state.playground().cross = true;
  state.playground().settings = {.d_model = 30,
                                 .heads = 3,
                                 .d_k = 5,
                                 .d_v = 7,
                                 .layers = 4,
                                 .seed = 18446744073709551615u,
                                 .scale = {.kind = model::Scale::Kind::Value, .value = 0.1f},
                                 .bias = false,
                                 .output_projection = false,
                                 .positions = false,
                                 .merge = model::MergeOrder::WithoutTranspose};
  change_to_model(state, "/models/gpt2");
  state.model() = {.path = "/models/gpt2",
                   .text = state.text(),
                   .pair_text = "second",
                   .target_text = "zwei",
                   .ids = {{1, 2}, {}},
                   .target_ids = {{3}},
                   .translates = false,
                   .adds_special = false,
                   .is_chat = true,
                   .thinking = text::Thinking::Off,
                   .padding = inference::PaddingSide::Left,
                   .precision = inference::Precision::F16,
                   .applies_adapter = false,
                   .joins_lines = true,
                   .stretches_positions = true};
  state.model().trained_masks[model::BlockKind::EncoderSelf].rule.causal = true;
  state.gains[{{.kind = model::BlockKind::Cross, .layer = {3}}, 5}] = 0.5f;
  state.patterns[{{.kind = model::BlockKind::DecoderSelf, .layer = {2}}, 4}] = attention::FixedPattern::Previous;
  state.patterns[{{.kind = model::BlockKind::Cross, .layer = {0}}, 1}] = {
      attention::FixedPattern::Painted, attention::NumberRuns{{{1, 2}, 0.25f}, {{1, 3}, 0.25f}, {{4, 0}, 0.0f}}};
  state.changes = {
      {.name = "a patch",
       .intervention =
           inference::Intervention{.site = model::Site::HeadOutput,
                                   .scope = inference::scope_of({.kind = model::BlockKind::Cross, .layer = {1}}, 3),
                                   .operation = inference::Replace{.item = 1, .first = 2, .rows = {0.1F, -2.0F}}}},
      {.name = "steering",
       .intervention =
           inference::Intervention{.site = model::Site::Residual,
                                   .scope = inference::scope_of({.kind = model::BlockKind::DecoderSelf, .layer = {2}}, 0),
                                   .operation = inference::Add{{0.3F, 4e-9F}}},
       .strength = -1.5F}};
  state.settings.set(kDropout.probability, 0.25f).set(kDropout.seed, 4294967295u);
  for (const auto* site : {&kDropout.weights, &kDropout.embeddings, &kDropout.branches, &kDropout.inner})
    state.settings.set(*site, false);
  state.generation = {.sampling = {.method = inference::SamplingMethod::Random,
                                   .temperature = 0.5f,
                                   .top_k = 40,
                                   .top_p = 0.75f,
                                   .seed = 18446744073709551614u},
                      .tokens = 7};
  attention::MaskSpec& mask = state.masks[model::BlockKind::Cross];
  mask.rule = {.causal = true, .window = 4, .prefix = 2, .key_padding = false};
  mask.fill = attention::MaskFill::MinusTenBillion;
  mask.matrix = attention::BooleanMask{.batch = 1, .heads = 2, .queries = 1, .keys = 3, .keep = {1, 0, 1, 0, 0, 1}};
  mask.painted[{.layer = 1, .batch = std::nullopt, .head = 2}].paint({.query = 3, .key = 4}, true);
  mask.biases[{.layer = std::nullopt, .batch = 0, .head = 1}] =
      attention::NumberRuns{{{2, 0}, -1.5f}, {{2, 1}, -1.5f}, {{7, 3}, 1e-3f}};
  attention::set_documents(mask, 1, {5, 9});
  mask.mask_expression = mask_expression("k <= q || id_k == 5");
  mask.score_expression = score_expression("score * slider(gain, 0, 4)");
  mask.sliders["gain"] = 0.75f;
  state.playground().kept_masks[model::BlockKind::EncoderSelf].rule.window = 9;
  state.selection = {
      .block = {.kind = model::BlockKind::Cross, .layer = {2}}, .batch = 1, .head = 2, .mean = HeadMean::Kind};
  state.view = {
      .tab = "steps",
      .panes = {.is_column = true,
                .share = 0.25F,
                .parts = {{.view = "flow", .pinned = Selection{.block = {}, .head = 1}}, {}}},
      .heatmap_stage = attention::Stage::Scaled,
      .color_limits = {{attention::Stage::Weights, {.low = 0.001f, .high = 0.25f}}},
      .weighs_values = true,
      .theme = Theme::Light,
      .ui_scale = 1.5f,
      .pinned = attention::Cell{.query = 1, .key = 2},
      .locked = LockedToken{.side = MapSide::Key, .token = 3},
      .lines = {.shows_selected = false, .hidden_heads = {1, 4}, .threshold = 0.125F, .pair_part = PairPart::SecondToFirst}};
  state.set(kMapView.color_map, chart::ColorMap::Magma)
      .set(kMapView.color_range, ColorRange::PerRow)
      .set(kMapView.color_spread, chart::ScaleSpread::Log)
      .set(kMapView.row_names, RowNames::Read)
      .set(kMapView.pooling, attention::Pooling::Mean)
      .set(kMapView.grid_order, GridOrder::ByConcentration)
      .set(kMapView.show_numbers, false)
      .set(kMapView.whole_words, true)
      .set(kMapView.special_tokens, SpecialTokens::Renormalized)
      .set(kMapView.groups_words, true)
      .set(kMapView.shows_marginals, true)
      .set(kTextView.side, MapSide::Key)
      .set(kStepsView.all_heads, true)
      .set(kBrush.reach, PaintReach::AllLayers)
      .set(kBrush.shape, BrushShape::Row)
      .set(kBrush.ink, BrushInk::Bias)
      .set(kBrush.bias, -0.5f)
      .set(kBrush.weight, 0.125f);
  state.set(kNeuronView.form, NeuronForm::AllKeys).set(kNeuronView.order, ProductOrder::BySize);
  state.opened_matrix = "scores";
  state.set(kBlockView.activations, true).set(kBlockView.reduces_motion, true).set(kBlockView.speed, 2.5f);
  state.heads = {
      .scoring = {.measure = evaluation::PatternMeasure::Abs, .exclusions = {.first_token = true, .current_token = true}},
      .order = evaluation::HeadMetric::Induction,
      .lowest_first = true,
      .filter = evaluation::HeadMetric::Distance,
      .least = 2.5f,
      .only_pinned = true,
      .shows_badges = false,
      .pinned = {{.block = {.kind = model::BlockKind::DecoderSelf, .layer = {1}}, .head = 3},
                 {.block = {.kind = model::BlockKind::Cross, .layer = {0}}, .head = 4}}};
  state.set(kHeadsView.mode, HeadsMode::Similarity)
      .set(kHeadsView.pattern, HeadPattern::Typed)
      .set(kHeadsView.typed_pattern, "k == q - ")
      .set(kHeadsView.subtracts_chance, true)
      .set(kHeadsView.groups_similar, false)
      .set(kHeadsView.circuit_score, CircuitScore::Copying)
      .set(kHeadsView.draws_arcs, true)
      .set(kHeadsView.least_arc, 0.25f)
      .set(kHeadsView.read_token, 9)
      .set(kHeadsView.has_distance, true)
      .set(kHeadsView.distance, 5)
      .set(kHeadsView.needle_longest, 512)
      .set(kHeadsView.needle_seed, 7)
      .set(kHeadsView.needle_is_predicted, true);
  state.set(kPredictionsView.part, PredictionsPart::Layers)
      .set(kPredictionsView.lens_color, LensColor::Rank)
      .set(kPredictionsView.ranked, 8)
      .set(kPredictionsView.lens, "/models/lens.safetensors");
  state.set(kLogitsView.token, 17).set(kLogitsView.other, 4).set(kLogitsView.sums_heads, false);
  const BaselineRun baseline{.inputs = run_inputs(state), .name = "1 head scaled"};
  state.gains[{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1}] = 0.0f;
  state.compare = {.baseline = baseline, .is_second_text = true, .shows_difference = false};
  state.set(kCheckpointsView.metric, evaluation::HeadMetric::Sink).set(kCheckpointsView.log_axis, false);
  state.set(kPromptsView.set, "sets/own.jsonl")
      .set(kPromptsView.experiment, PromptExperiment::Lens)
      .set(kPromptsView.lens, LensMeasure::Rank)
      .set(kPromptsView.metric, evaluation::HeadMetric::Sink)
      .set(kPromptsView.layer, 2)
      .set(kPromptsView.position, "B2")
      .set(kPromptsView.order, PromptOrder::Lowest);
  state.set(kNotebookView.cell, "20");
  state.set(kWhyView.is_raw, true).set(kWhyView.list, WhyList::Writers).set(kWhyView.trail, "0 1 4 17 9 0 0 5 9 8");
  state.set(kCorpusView.folder, "surveys/captions")
      .set(kCorpusView.mode, CorpusMode::Head)
      .set(kCorpusView.x, "sink")
      .set(kCorpusView.y, "entropy")
      .set(kCorpusView.color, "distance")
      .set(kCorpusView.order, "previous")
      .set(kCorpusView.metric, "induction")
      .set(kCorpusView.decile, 3)
      .set(kCorpusView.lowest_first, true);
  state.survey_head = {.block = {.kind = model::BlockKind::Cross, .layer = {2}}, .head = 7};
  state.set(kSideBySideView.right, SideMap::Baseline)
      .set(kSideBySideView.is_chosen, true)
      .set(kSideBySideView.layer, 3)
      .set(kSideBySideView.head, 5);
  state.set(kWhatIfView.measure, KnockoutMeasure::Loss)
      .set(kWhatIfView.ablation, Ablation::Mean)
      .set(kWhatIfView.is_sorted, false);
  state.patching = {
      .map = PatchMap::Paths,
      .measure = PatchMeasure::Loss,
      .into_baseline = true,
      .token = 3,
      .at_token = true,
      .part = model::Site::Key,
      .receiver = {
          .kind = model::BlockKind::Cross, .layer = 2, .head = 3, .input = PathInput::Value, .recomputes_mlps = false}};
  state.set(kFlowView.method, FlowMethod::Rollout).set(kFlowView.threshold, 0.1f).set(kFlowView.residual_weight, 0.25f);
  return state;
}

State unusual_notebook() {
  State state = unusual_state();
  change_to_notebook(state, "notebook-000");
  std::get<Notebook>(state.source).edits = {
      .recipe = {.sentence = "a b", .d_model = 6, .heads = 3, .d_k = 2, .d_v = 5, .seed = 18446744073709551613u},
      .matrices = {{"w_q", {.shape = {6, 6}, .cells = {{0, 0.1F}, {35, -3e-9F}}}},
                   {"x", {.shape = {2}, .cells = {{1, 2.0F}}}}}};
  return state;
}

State unusual_capture() {
  State state = unusual_state();
  change_to_capture(state, "/runs/mine.npz");
  return state;
}

}  // namespace headlight::test
