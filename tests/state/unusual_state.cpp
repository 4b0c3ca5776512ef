#include "state/unusual_state.h"

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
  state.dropout = {
      .probability = 0.25f, .seed = 4294967295u, .weights = false, .embeddings = false, .branches = false, .inner = false};
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
      .heatmap_stage = attention::Stage::Scaled,
      .color_map = "magma",
      .color_range = ColorRange::PerRow,
      .color_spread = view::ScaleSpread::Log,
      .color_limits = {{attention::Stage::Weights, {.low = 0.001f, .high = 0.25f}}},
      .weighs_values = true,
      .row_names = RowNames::Read,
      .pooling = attention::Pooling::Mean,
      .grid_order = GridOrder::ByConcentration,
      .paint_reach = PaintReach::AllLayers,
      .brush_shape = BrushShape::Row,
      .brush_ink = BrushInk::Bias,
      .brush_bias = -0.5f,
      .brush_weight = 0.125f,
      .show_numbers = false,
      .shows_whole_words = true,
      .steps_all_heads = true,
      .theme = Theme::Light,
      .ui_scale = 1.5f,
      .pinned = attention::Cell{.query = 1, .key = 2},
      .locked = LockedToken{.side = MapSide::Key, .token = 3},
      .lines = {.shows_selected = false, .hidden_heads = {1, 4}, .threshold = 0.125F, .pair_part = PairPart::SecondToFirst},
      .text_side = MapSide::Key,
      .special_tokens = SpecialTokens::Renormalized,
      .groups_words = true,
      .shows_marginals = true};
  state.neuron = {.form = NeuronForm::AllKeys, .order = ProductOrder::BySize};
  state.block = {.opened = "scores", .shows_activations = true, .reduces_motion = true, .speed = 2.5f};
  state.heads = {
      .scoring = {.measure = evaluation::PatternMeasure::Abs, .exclusions = {.first_token = true, .current_token = true}},
      .order = evaluation::HeadMetric::Induction,
      .lowest_first = true,
      .filter = evaluation::HeadMetric::Distance,
      .least = 2.5f,
      .only_pinned = true,
      .shows_badges = false,
      .pinned = {{.block = {.kind = model::BlockKind::DecoderSelf, .layer = {1}}, .head = 3},
                 {.block = {.kind = model::BlockKind::Cross, .layer = {0}}, .head = 4}},
      .mode = HeadsMode::Similarity,
      .pattern = HeadPattern::Typed,
      .typed_pattern = "k == q - ",
      .subtracts_chance = true,
      .groups_similar = false,
      .circuit_score = CircuitScore::Copying,
      .draws_arcs = true,
      .least_arc = 0.25f,
      .read_token = 9,
      .has_distance = true,
      .distance = 5,
      .needle_longest = 512,
      .needle_seed = 7,
      .needle_is_predicted = true};
  state.predictions = {
      .part = PredictionsPart::Layers, .lens_color = LensColor::Rank, .ranked = 8, .lens = "/models/lens.safetensors"};
  state.logits = {.token = 17, .other = 4, .sums_heads = false};
  const BaselineRun baseline{.inputs = run_inputs(state), .name = "1 head scaled"};
  state.gains[{{.kind = model::BlockKind::EncoderSelf, .layer = {0}}, 1}] = 0.0f;
  state.compare = {.baseline = baseline, .is_second_text = true, .shows_difference = false};
  state.checkpoints = {.metric = evaluation::HeadMetric::Sink, .is_log = false};
  state.prompts = {.set = "sets/own.jsonl",
                   .experiment = PromptExperiment::Lens,
                   .lens = LensMeasure::Rank,
                   .metric = evaluation::HeadMetric::Sink,
                   .layer = 2,
                   .position = "B2",
                   .order = PromptOrder::Lowest};
  state.corpus = {.folder = "surveys/captions",
                  .mode = CorpusMode::Head,
                  .x = "sink",
                  .y = "entropy",
                  .color = "distance",
                  .order = "previous",
                  .metric = "induction",
                  .decile = 3,
                  .chosen = {.block = {.kind = model::BlockKind::Cross, .layer = {2}}, .head = 7},
                  .lowest_first = true};
  state.side_by_side = {.right = SideMap::Baseline, .is_chosen = true, .layer = 3, .head = 5};
  state.what_if = {.measure = KnockoutMeasure::Loss, .ablation = Ablation::Mean, .is_sorted = false};
  state.patching = {
      .map = PatchMap::Paths,
      .measure = PatchMeasure::Loss,
      .into_baseline = true,
      .token = 3,
      .at_token = true,
      .part = model::Site::Key,
      .receiver = {
          .kind = model::BlockKind::Cross, .layer = 2, .head = 3, .input = PathInput::Value, .recomputes_mlps = false}};
  state.flow = {.method = FlowMethod::Rollout, .threshold = 0.1f, .residual_weight = 0.25f};
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
