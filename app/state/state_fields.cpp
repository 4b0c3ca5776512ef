#include <array>
#include <utility>

#include "app/state/comparison.h"
#include "app/state/field.h"
#include "app/state/field_types.h"
#include "app/state/field_values.h"
#include "app/state/mask_json.h"
#include "app/state/state_names.h"
#include "view/color_map.h"

namespace headlight::app {
namespace {

using evaluation::Exclusions;
using evaluation::PatternScoring;
using inference::PlaygroundSettings;
using inference::SamplingSettings;

Field continuous(Field field) {
  field.is_continuous = true;
  return field;
}

/// A field of which a change is called after what it was and is.
Field described(Field field, std::function<Change(const State&, const State&)> describe) {
  field.describe = std::move(describe);
  return field;
}

template <typename Member>
auto of_playground(Member member) {
  return [member](auto& state) -> auto& { return state.playground().*member; };
}
template <typename Member>
auto in_playground(Member member) {
  return [member](auto& state) -> auto& { return state.playground().settings.*member; };
}
template <typename Member>
auto in_model(Member member) {
  return [member](auto& state) -> auto& { return state.model().*member; };
}
template <typename Member>
auto in_sampling(Member member) {
  return at(&State::generation, &GenerationChoices::sampling, member);
}
template <typename Member>
auto in_view(Member member) {
  return at(&State::view, member);
}

Change describe_mask_change(const attention::MaskSpec& before, const attention::MaskSpec& after) {
  if (after == attention::MaskSpec{}) return {.label = "Reset masks"};
  if (before.matrix != after.matrix) return {.label = after.matrix ? "Load mask" : "Remove mask matrix"};
  if (before.painted != after.painted) return {.label = after.painted.empty() ? "Remove paint" : "Paint cells"};
  if (before.fill != after.fill) return {.label = "Choose fill"};
  if (before.mask_expression != after.mask_expression) {
    if (!after.mask_expression) return {.label = "Remove mask expression"};
    return {.label = "Change mask expression", .is_continuous = true};
  }
  if (before.score_expression != after.score_expression) {
    if (!after.score_expression) return {.label = "Remove score expression"};
    return {.label = "Change score expression", .is_continuous = true};
  }
  if (before.sliders != after.sliders) return {.label = "Move slider", .is_continuous = true};
  if (before.rule.causal != after.rule.causal) return {.label = "Switch causal mask"};
  if (before.rule.key_padding != after.rule.key_padding) return {.label = "Switch padding mask"};
  if (before.rule.window != after.rule.window) return {.label = "Change window", .is_continuous = true};
  return {.label = "Change prefix", .is_continuous = true};
}

Change describe_masks_change(const State& before, const State& after) {
  if (before.gains != after.gains) return {.label = "Reset the model"};
  for (std::size_t kind = 0; kind < model::kBlockKinds; ++kind) {
    const attention::MaskSpec &old_mask = before.masks.by_kind[kind], &new_mask = after.masks.by_kind[kind];
    if (old_mask != new_mask) return describe_mask_change(old_mask, new_mask);
  }
  return {};
}

template <typename At>
Field masks_field(const char* key, const char* label, At member) {
  return value_field(
      "", key, label, member, [](const attention::MaskSet& masks) { return to_json(masks); },
      [](const JsonReader& object, const char* name, attention::MaskSet& masks) {
        if (const nlohmann::json* found = object.find(name)) masks = masks_from_json(*found, object.path(name));
      });
}

Field ids_field(const char* key, IdLists Model::*ids) {
  return value_field(
      "model", key, "Change ids", in_model(ids), [](const IdLists& value) { return nlohmann::json(value); }, read_ids);
}

/// A name or path that says which source is shown: empty where the source is another one.
Field source_field(const char* group, const char* key, const std::string& (*name)(const Source&),
                   void (*change)(State&, const std::string&)) {
  Field field{.group = group, .key = key};
  field.write = [name](const State& state) { return nlohmann::json(name(state.source)); };
  field.read = [change](const JsonReader& object, const char* member, State& state) {
    std::string read;
    object.read(member, read);
    if (!read.empty()) change(state, read);
  };
  field.is_same = [name](const State& a, const State& b) { return name(a.source) == name(b.source); };
  return field;
}

/// What is computed. A file that names both a notebook and a model is the model's.
void add_source(std::vector<Field>& fields) {
  fields.push_back(
      described(source_field("", "preset", notebook_name, change_to_notebook), [](const State& before, const State& after) {
        const Notebook* shown = std::get_if<Notebook>(&after.source);
        return Change{.label = shown ? "Show " + shown->name : "Leave " + notebook_name(before.source)};
      }));
  fields.push_back(
      described(source_field("model", "path", model_path, change_to_model), [](const State&, const State& after) {
        return Change{.label = is_model(after.source) ? "Open model" : "Close model"};
      }));
  fields.push_back(continuous(plain_field(
      "", "text", "Edit text", [](auto& state) -> auto& { return state.text(); })));
  fields.push_back(switch_field("", "cross", "Switch cross-attention", of_playground(&Playground::cross)));
  fields.push_back(continuous(plain_field("", "key_text", "Edit second text", of_playground(&Playground::key_text))));
}

void add_model(std::vector<Field>& fields) {
  fields.push_back(continuous(plain_field("model", "pair_text", "Edit second sentence", in_model(&Model::pair_text))));
  fields.push_back(
      described(switch_field("model", "translates", "", in_model(&Model::translates)), [](const State&, const State& after) {
        return Change{.label = after.model().translates ? "Translate by itself" : "Write the target"};
      }));
  fields.push_back(continuous(plain_field("model", "target_text", "Edit target", in_model(&Model::target_text))));
  fields.push_back(choice_field("model", "padding", "Choose padding side", in_model(&Model::padding), kPaddingSides,
                                {.name = "--padding-side", .help = "where shorter lines of a batch are filled up"}));
  Field special = switch_field("model", "adds_special", "Switch special tokens", in_model(&Model::adds_special));
  special.flag = {.name = "--no-special",
                  .help = "without the tokens that the model expects around a text ([CLS], <s>, ...)",
                  .parse = [](const std::string&, const std::string&) -> StateEdit {
                    return [](State& state) { state.model().adds_special = false; };
                  }};
  fields.push_back(std::move(special));
  fields.push_back(
      choice_field("model", "precision", "Choose precision", in_model(&Model::precision), kPrecisions,
                   {.name = "--precision", .help = "how weights are kept on the device; arithmetic is float32"}));
  fields.push_back(switch_field("model", "joins_lines", "Join lines", in_model(&Model::joins_lines),
                                {.name = "--join-lines", .help = "all lines of a text are one item of the batch"}));
  fields.push_back(switch_field("model", "stretches_positions", "Stretch positions", in_model(&Model::stretches_positions),
                                {.name = "--stretch-positions",
                                 .help = "take texts that are longer than the model's table of learned positions by "
                                         "interpolating the table; the model wasn't trained for that"}));
  fields.push_back(ids_field("ids", &Model::ids));
  fields.push_back(ids_field("target_ids", &Model::target_ids));
}

/// "1/sqrt(d_k)", "none" or a number, behind a flag.
StateEdit parse_scale(const std::string& flag, const std::string& text) {
  constexpr float kLargest = 1e6f;
  model::Scale scale;
  if (text == "none") {
    scale = {.kind = model::Scale::Kind::None, .value = 1.0f};
  } else if (text != "1/sqrt(d_k)") {
    scale = {.kind = model::Scale::Kind::Value, .value = parse_number(flag, text, -kLargest, kLargest)};
  }
  return [scale](State& state) { state.playground().settings.scale = scale; };
}

void add_playground(std::vector<Field>& fields) {
  const auto add = [&](Field field) { fields.push_back(continuous(std::move(field))); };
  const auto add_size = [&](const char* key, std::uint32_t PlaygroundSettings::*size, std::uint32_t low, std::uint32_t high,
                            const FlagText& flag) {
    add(number_field("playground", key, std::string("Change ") + key, in_playground(size), low, high, flag));
  };
  add_size("d_model", &PlaygroundSettings::d_model, 1, inference::kMaxWidth,
           {.name = "--d-model", .help = "width of the token vectors"});
  add_size("heads", &PlaygroundSettings::heads, 1, inference::kMaxHeads, {.name = "--heads", .help = "heads of each layer"});
  add_size("d_k", &PlaygroundSettings::d_k, 0, inference::kMaxWidth,
           {.name = "--d-k",
            .help = "width of a head's queries and keys",
            .default_text = "0: d_model / heads",
            .tells_limits = false});
  add_size(
      "d_v", &PlaygroundSettings::d_v, 0, inference::kMaxWidth,
      {.name = "--d-v", .help = "width of a head's values", .default_text = "0: d_model / heads", .tells_limits = false});
  add_size("layers", &PlaygroundSettings::layers, 1, inference::kMaxLayers,
           {.name = "--layers", .help = "attention layers"});
  add(number_field("playground", "seed", "Change seed", in_playground(&PlaygroundSettings::seed), std::uint64_t{0},
                   std::numeric_limits<std::uint64_t>::max(),
                   {.name = "--seed", .help = "torch.manual_seed of the weights", .tells_limits = false}));
  Field scale =
      value_field("playground", "scale", "Change scale", in_playground(&PlaygroundSettings::scale), write_scale, read_scale);
  scale.flag = {.name = "--scale",
                .value_name = "S",
                .help = "factor of the raw scores: 1/sqrt(d_k), none or a number (default 1/sqrt(d_k))",
                .parse = parse_scale};
  add(std::move(scale));
  add(switch_field("playground", "bias", "Switch bias", in_playground(&PlaygroundSettings::bias),
                   {.name = "--bias", .help = "biases of the projections"}));
  add(switch_field("playground", "output_projection", "Switch output projection",
                   in_playground(&PlaygroundSettings::output_projection),
                   {.name = "--output-projection", .help = "the projection W_O after the merged heads"}));
  add(switch_field("playground", "positions", "Switch positions", in_playground(&PlaygroundSettings::positions),
                   {.name = "--positions", .help = "sinusoidal positions added to the token vectors"}));
  add(choice_field(
      "playground", "merge", "Change merge order", in_playground(&PlaygroundSettings::merge), kMerges,
      {.name = "--merge", .help = "how heads are merged: concatenate or without-transpose", .value_name = "ORDER"}));
}

/// What was changed about the model: masks and gains.
void add_changes(std::vector<Field>& fields) {
  fields.push_back(described(masks_field("masks", "", at(&State::masks)), describe_masks_change));
  fields.push_back(value_field("", "gains", "Change head gain", at(&State::gains), write_gains, read_gains));
}

void add_generation(std::vector<Field>& fields) {
  constexpr const char* kLabel = "Change generation";
  const auto add = [&](Field field) { fields.push_back(continuous(std::move(field))); };
  add(number_field("generation", "tokens", kLabel, at(&State::generation, &GenerationChoices::tokens), 1u,
                   kMostGeneratedTokens));
  add(choice_field("generation", "method", kLabel, in_sampling(&SamplingSettings::method), kMethods));
  add(number_field("generation", "temperature", kLabel, in_sampling(&SamplingSettings::temperature), kLeastTemperature,
                   kMostTemperature));
  add(number_field("generation", "top_k", kLabel, in_sampling(&SamplingSettings::top_k), 0u, kMostTopK));
  add(number_field("generation", "top_p", kLabel, in_sampling(&SamplingSettings::top_p), 0.0f, 1.0f));
  add(number_field("generation", "seed", kLabel, in_sampling(&SamplingSettings::seed), std::uint64_t{0},
                   std::numeric_limits<std::uint64_t>::max()));
}

void add_selection(std::vector<Field>& fields) {
  constexpr const char* kLabel = "Select head";
  const auto add = [&](Field field) { fields.push_back(continuous(std::move(field))); };
  const auto index_flag = [](const char* name, const char* help) {
    return FlagText{.name = name, .help = help, .tells_limits = false, .tells_default = false};
  };
  add(number_field("selection", "layer", kLabel,
                   at(&State::selection, &Selection::block, &model::BlockRef::layer, &LayerIndex::value), 0u, kLastIndex,
                   index_flag("--layer", "selected layer, from 0")));
  add(number_field("selection", "head", kLabel, at(&State::selection, &Selection::head), 0u, kLastIndex,
                   index_flag("--head", "selected head, from 0")));
  add(number_field("selection", "batch", kLabel, at(&State::selection, &Selection::batch), 0u, kLastIndex,
                   index_flag("--batch", "selected batch item, from 0")));
  add(choice_field(
      "selection", "kind", kLabel, at(&State::selection, &Selection::block, &model::BlockRef::kind), kKinds,
      {.name = "--block", .help = "kind of the selected attention, in presets that have several", .tells_default = false}));
  add(choice_field("selection", "mean", kLabel, at(&State::selection, &Selection::mean), kMeans));
}

Field color_map_field() {
  Field field = value_field(
      "view", "color_map", "Choose colour map", in_view(&ViewChoices::color_map),
      [](const std::string& name) { return nlohmann::json(name); }, read_color_map);
  const std::vector<std::string> names = color_map_names();
  field.flag = {.name = "--color-map",
                .value_name = fmt::format("{}", fmt::join(names, "|")),
                .help = "colours of the heatmaps",
                .parse = [names](const std::string& flag, const std::string& text) -> StateEdit {
                  const std::string& name = names[parse_choice(flag, text, names)];
                  return [name](State& state) { state.view.color_map = name; };
                }};
  return field;
}

/// The flag knows one name more than the stages': weights as norms.
Field heatmap_stage_field() {
  const std::string norms_name = "norms";
  Field field = choice_field("view", "heatmap_stage", "Choose stage", in_view(&ViewChoices::heatmap_stage), kMapStages,
                             {.name = "--stage",
                              .help = "what the heatmap shows; norms: how much each key adds, ‖weight·v·W_O‖",
                              .tells_default = false});
  field.flag.value_name += "|" + norms_name;
  field.flag.parse = [norms_name](const std::string& flag, const std::string& text) -> StateEdit {
    std::vector<std::string> choices;
    for (const auto& [stage, name] : kMapStages) choices.emplace_back(name);
    choices.push_back(norms_name);
    const std::size_t chosen = parse_choice(flag, text, choices);
    const bool is_norms = chosen == kMapStages.size();
    const attention::Stage stage = is_norms ? attention::Stage::Weights : kMapStages[chosen].first;
    return [stage, is_norms](State& state) {
      state.view.heatmap_stage = stage;
      state.view.weighs_values = is_norms;
    };
  };
  return field;
}

void add_view(std::vector<Field>& fields) {
  const auto text = [](const std::string& value) { return nlohmann::json(value); };
  fields.push_back(described(value_field("view", "tab", "", in_view(&ViewChoices::tab), text, read_view_id),
                             [](const State&, const State& after) { return Change{.label = "Show " + after.view.tab}; }));
  fields.push_back(heatmap_stage_field());
  fields.push_back(switch_field("view", "weighs_values", "Choose weights or norms", in_view(&ViewChoices::weighs_values)));
  fields.push_back(color_map_field());
  fields.push_back(choice_field("view", "color_range", "Choose colour range", in_view(&ViewChoices::color_range), kRanges));
  fields.push_back(
      choice_field("view", "color_spread", "Choose colour scale", in_view(&ViewChoices::color_spread), kSpreads));
  fields.push_back(continuous(value_field("view", "color_limits", "Change colour range", in_view(&ViewChoices::color_limits),
                                          write_limits, read_limits)));
  fields.push_back(
      choice_field("view", "pooling", "Choose what a pixel shows", in_view(&ViewChoices::pooling), kPoolings,
                   {.name = "--pooling",
                    .help = "what a value shows of weights where it covers several cells, their largest or their mean",
                    .tells_default = false}));
  fields.push_back(choice_field("view", "row_names", "Name rows", in_view(&ViewChoices::row_names), kRowNames));
  fields.push_back(choice_field("view", "grid_order", "Choose grid order", in_view(&ViewChoices::grid_order), kOrders));
  fields.push_back(choice_field("view", "paint_reach", "Choose paint reach", in_view(&ViewChoices::paint_reach), kReaches));
  fields.push_back(switch_field("view", "show_numbers", "Switch numbers", in_view(&ViewChoices::show_numbers)));
  fields.push_back(choice_field("view", "theme", "Switch theme", in_view(&ViewChoices::theme), kThemes,
                                {.name = "--theme", .help = "colours of the window", .tells_default = false}));
  fields.push_back(described(
      value_field("view", "pinned", "", in_view(&ViewChoices::pinned), write_cell, read_cell),
      [](const State&, const State& after) { return Change{.label = after.view.pinned ? "Pin cell" : "Unpin cell"}; }));
  fields.push_back(described(
      value_field("view", "locked", "", in_view(&ViewChoices::locked), write_locked, read_locked),
      [](const State&, const State& after) { return Change{.label = after.view.locked ? "Lock token" : "Unlock token"}; }));
  fields.push_back(
      continuous(number_field("view", "ui_scale", "Change UI scale", in_view(&ViewChoices::ui_scale), 0.0f, 4.0f)));
}

/// The settings of single views.
void add_single_views(std::vector<Field>& fields) {
  fields.push_back(
      choice_field("neuron", "form", "Choose neuron view's keys", at(&State::neuron, &NeuronChoices::form), kNeuronForms));
  fields.push_back(
      choice_field("neuron", "order", "Sort products", at(&State::neuron, &NeuronChoices::order), kProductOrders));
  fields.push_back(described(value_field(
                                 "block", "opened", "", at(&State::block, &BlockChoices::opened),
                                 [](const std::string& value) { return nlohmann::json(value); }, read_matrix_id),
                             [](const State& before, const State& after) {
                               const bool is_unfolded = !after.block.opened.empty();
                               return Change{.label = is_unfolded ? "Unfold " + after.block.opened
                                                                  : "Fold " + before.block.opened};
                             }));
  fields.push_back(
      switch_field("block", "reduces_motion", "Switch motion", at(&State::block, &BlockChoices::reduces_motion)));
  fields.push_back(continuous(number_field("block", "speed", "Change speed", at(&State::block, &BlockChoices::speed),
                                           kLeastBlockSpeed, kMostBlockSpeed)));
  fields.push_back(value_field("logits", "token", "Choose explained token", at(&State::logits, &LogitsChoices::token),
                               write_token, read_token));
  fields.push_back(value_field("logits", "other", "Choose second token", at(&State::logits, &LogitsChoices::other),
                               write_token, read_token));
  fields.push_back(
      switch_field("logits", "sums_heads", "Choose heads of source tokens", at(&State::logits, &LogitsChoices::sums_heads)));
  fields.push_back(
      choice_field("flow", "method", "Choose what flows", at(&State::flow, &FlowChoices::method), kFlowMethods));
  fields.push_back(
      continuous(number_field("flow", "threshold", "Change threshold", at(&State::flow, &FlowChoices::threshold),
                              kLeastFlowThreshold, kMostFlowThreshold)));
  fields.push_back(continuous(number_field("flow", "residual_weight", "Change residual's weight",
                                           at(&State::flow, &FlowChoices::residual_weight), 0.0f, 1.0f)));
}

/// What is compared, and the views that change runs in the background.
void add_comparison(std::vector<Field>& fields) {
  fields.push_back(described(
      value_field("compare", "frozen", "", at(&State::compare, &CompareChoices::frozen), write_frozen, read_frozen),
      [](const State&, const State& after) {
        return Change{.label = after.compare.frozen ? "Freeze the run" : "Stop comparing"};
      }));
  fields.push_back(switch_field("compare", "shows_difference", "Switch differences",
                                at(&State::compare, &CompareChoices::shows_difference)));
  fields.push_back(choice_field("what_if", "measure", "Choose what a knock-out changes",
                                at(&State::what_if, &WhatIfChoices::measure), kKnockoutMeasures));
  fields.push_back(choice_field("what_if", "ablation", "Choose how heads are knocked out",
                                at(&State::what_if, &WhatIfChoices::ablation), kAblations));
  fields.push_back(switch_field("what_if", "is_sorted", "Sort heads", at(&State::what_if, &WhatIfChoices::is_sorted)));
  const auto in_patching = [](auto... member) { return at(&State::patching, member...); };
  fields.push_back(
      choice_field("patching", "map", "Choose what is patched", in_patching(&PatchingChoices::map), kPatchMaps));
  fields.push_back(choice_field("patching", "measure", "Choose what patches change", in_patching(&PatchingChoices::measure),
                                kPatchMeasures));
  fields.push_back(
      switch_field("patching", "into_frozen", "Choose the patched run", in_patching(&PatchingChoices::into_frozen)));
  fields.push_back(value_field("patching", "token", "Choose the patched token", in_patching(&PatchingChoices::token),
                               write_token, read_token));
  fields.push_back(
      switch_field("patching", "at_token", "Choose where heads are patched", in_patching(&PatchingChoices::at_token)));
}

/// How the views of all heads score, order and filter them.
void add_head_views(std::vector<Field>& fields) {
  const auto in_heads = [](auto... member) { return at(&State::heads, member...); };
  const auto metric_field = [&](const char* key, const char* label, auto member) {
    return value_field("heads", key, label, in_heads(member), write_metric, read_metric);
  };
  const auto exclusion = [&](auto member) { return in_heads(&HeadChoices::scoring, &PatternScoring::exclusions, member); };
  fields.push_back(choice_field("heads", "measure", "Choose how heads are scored",
                                in_heads(&HeadChoices::scoring, &PatternScoring::measure), kPatternMeasures));
  fields.push_back(
      switch_field("heads", "excludes_first", "Choose how heads are scored", exclusion(&Exclusions::first_token)));
  fields.push_back(
      switch_field("heads", "excludes_current", "Choose how heads are scored", exclusion(&Exclusions::current_token)));
  fields.push_back(metric_field("order", "Order heads", &HeadChoices::order));
  fields.push_back(switch_field("heads", "lowest_first", "Order heads", in_heads(&HeadChoices::lowest_first)));
  fields.push_back(metric_field("filter", "Filter heads", &HeadChoices::filter));
  fields.push_back(continuous(number_field("heads", "least", "Filter heads", in_heads(&HeadChoices::least), -1e6f, 1e6f)));
  fields.push_back(switch_field("heads", "only_pinned", "Filter heads", in_heads(&HeadChoices::only_pinned)));
  fields.push_back(switch_field("heads", "shows_badges", "Switch badges", in_heads(&HeadChoices::shows_badges)));
  fields.push_back(value_field("heads", "pinned", "Pin heads", in_heads(&HeadChoices::pinned), write_heads, read_heads));
  fields.push_back(choice_field("heads", "mode", "Choose how heads are found", in_heads(&HeadChoices::mode), kHeadsModes));
  fields.push_back(choice_field("heads", "pattern", "Choose pattern", in_heads(&HeadChoices::pattern), kHeadPatterns));
  const auto write_text = [](const std::string& text) { return nlohmann::json(text); };
  fields.push_back(continuous(value_field("heads", "typed_pattern", "Edit pattern", in_heads(&HeadChoices::typed_pattern),
                                          write_text, read_typed_pattern)));
  fields.push_back(
      switch_field("heads", "subtracts_chance", "Choose how heads are scored", in_heads(&HeadChoices::subtracts_chance)));
  fields.push_back(switch_field("heads", "groups_similar", "Order heads", in_heads(&HeadChoices::groups_similar)));
  fields.push_back(choice_field("heads", "circuit_score", "Choose what weights are compared by",
                                in_heads(&HeadChoices::circuit_score), kCircuitScores));
}

/// What the lines, the text and the map show.
void add_view_parts(std::vector<Field>& fields) {
  fields.push_back(value_field("lines", "hidden_heads", "Choose heads of the lines",
                               at(&State::view, &ViewChoices::lines, &LineChoices::hidden_heads), write_head_numbers,
                               read_head_numbers));
  fields.push_back(continuous(number_field("lines", "threshold", "Change threshold of the lines",
                                           at(&State::view, &ViewChoices::lines, &LineChoices::threshold), kLeastLineWeight,
                                           kMostLineWeight)));
  fields.push_back(choice_field("lines", "pair_part", "Choose sentences of the lines",
                                at(&State::view, &ViewChoices::lines, &LineChoices::pair_part), kPairParts));
  fields.push_back(
      choice_field("view", "text_side", "Choose what shades the text", in_view(&ViewChoices::text_side), kMapSides));
  fields.push_back(choice_field("view", "special_tokens", "Choose what is shown of special tokens",
                                in_view(&ViewChoices::special_tokens), kSpecialTokens));
  fields.push_back(switch_field("view", "groups_words", "Switch words", in_view(&ViewChoices::groups_words)));
  fields.push_back(switch_field("view", "shows_marginals", "Switch marginals", in_view(&ViewChoices::shows_marginals)));
}

/// The masks that the state goes back to, which only change together with others.
void add_kept_masks(std::vector<Field>& fields) {
  fields.push_back(masks_field("model_masks", "Change masks", in_model(&Model::trained_masks)));
  fields.push_back(masks_field("playground_masks", "Change masks", of_playground(&Playground::kept_masks)));
}

}  // namespace

std::span<const Field> state_fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> fields;
    for (const auto add : {add_source, add_model, add_playground, add_changes, add_generation, add_selection, add_view,
                           add_single_views, add_view_parts, add_head_views, add_comparison, add_kept_masks}) {
      add(fields);
    }
    return fields;
  }();
  return kFields;
}

std::vector<std::string> color_map_names() {
  std::vector<std::string> names;
  for (const view::ColorMap map : view::kColorMaps) {
    if (map != view::ColorMap::BlueRed) names.emplace_back(view::to_string(map));
  }
  return names;
}

Change describe_change(const State& before, const State& after) {
  for (const Field& field : state_fields()) {
    if (field.is_same(before, after)) continue;
    if (field.describe) return field.describe(before, after);
    return {.label = field.label, .is_continuous = field.is_continuous};
  }
  return {};
}

}  // namespace headlight::app
