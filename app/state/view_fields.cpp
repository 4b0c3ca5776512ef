#include <fmt/ranges.h>

#include "app/state/comparison.h"
#include "app/state/field.h"
#include "app/state/field_types.h"
#include "app/state/field_values.h"
#include "app/state/state_names.h"
#include "app/state/view_pane.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

using evaluation::Exclusions;
using evaluation::PatternScoring;

template <auto member>
auto in_view() {
  return at<&State::view, member>();
}
template <auto member>
auto in_patching() {
  return at<&State::patching, member>();
}
template <auto member>
auto in_receiver() {
  return at<&State::patching, &PatchingChoices::receiver, member>();
}
template <auto... members>
auto in_heads() {
  return at<&State::heads, members...>();
}
template <auto member>
auto in_exclusions() {
  return in_heads<&HeadChoices::scoring, &PatternScoring::exclusions, member>();
}

/// The flag knows one name more than the stages': weights as norms.
Field heatmap_stage_field() {
  const std::string norms_name = "norms";
  Field field = choice_field("view", "heatmap_stage", "Choose stage", in_view<&ViewChoices::heatmap_stage>(), kMapStages,
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

/// The flag's ends are of weights, or from a LOW below 0 of scores, whose ends are as far from 0 as each other.
Field color_limits_field() {
  return flagged(
      continuous(value_field("view", "color_limits", "Change colour range", in_view<&ViewChoices::color_limits>(),
                             write_limits, read_limits)),
      {.name = "--range",
       .value_name = "LOW,HIGH",
       .help = "values at the ends of the colour bar, the same for all maps of weights, or of scores where LOW is "
               "below 0 (default: what fits each map)",
       .parse = [](const std::string& flag, const std::string& text) -> StateEdit {
         const chart::ValueLimits limits = parse_limits(flag, text);
         const float reach = std::max(std::abs(limits.low), std::abs(limits.high));
         return [limits, reach](State& state) {
           for (const auto& [stage, name] : kMapStages) {
             const bool is_weights = stage == attention::Stage::Weights;
             if (is_weights != (limits.low >= 0.0F)) continue;
             state.view.color_limits[stage] = is_weights ? limits : chart::ValueLimits{.low = -reach, .high = reach};
           }
         };
       }});
}

std::vector<Field> window_fields() {
  const auto text = [](const std::string& value) { return nlohmann::json(value); };
  return {described(value_field("view", "tab", "", in_view<&ViewChoices::tab>(), text, read_view_id),
                    [](const State&, const State& after) {
                      std::string name = after.view.tab;
                      std::ranges::replace(name, '_', ' ');
                      return Change{.label = "Show " + name};
                    }),
          continuous(value_field("view", "panes", "Arrange panes", in_view<&ViewChoices::panes>(), write_panes, read_panes)),
          heatmap_stage_field(),
          switch_field("view", "weighs_values", "Choose weights or norms", in_view<&ViewChoices::weighs_values>()),
          color_limits_field(),
          choice_field("view", "theme", "Switch theme", in_view<&ViewChoices::theme>(), kThemes,
                       {.name = "--theme", .help = "colours of the window", .tells_default = false}),
          described(value_field("view", "pinned", "", in_view<&ViewChoices::pinned>(), write_cell, read_cell),
                    [](const State&, const State& after) {
                      return Change{.label = after.view.pinned ? "Pin cell" : "Unpin cell"};
                    }),
          described(value_field("view", "locked", "", in_view<&ViewChoices::locked>(), write_locked, read_locked),
                    [](const State&, const State& after) {
                      return Change{.label = after.view.locked ? "Lock token" : "Unlock token"};
                    }),
          continuous(number_field("view", "ui_scale", "Change UI scale", in_view<&ViewChoices::ui_scale>(), 0.0f, 4.0f))};
}

/// The matrix that is unfolded in the block view, and the head of the corpus view.
std::vector<Field> single_view_fields() {
  constexpr auto kHead = &State::survey_head;
  const auto kind = at<kHead, &HeadRef::block, &model::BlockRef::kind>();
  const auto layer = at<kHead, &HeadRef::block, &model::BlockRef::layer, &LayerIndex::value>();
  return {described(value_field(
                        "block", "opened", "", at<&State::opened_matrix>(),
                        [](const std::string& value) { return nlohmann::json(value); }, read_matrix_id),
                    [](const State& before, const State& after) {
                      const bool is_unfolded = !after.opened_matrix.empty();
                      return Change{.label = is_unfolded ? "Unfold " + after.opened_matrix : "Fold " + before.opened_matrix};
                    }),
          continuous(choice_field("corpus", "kind", "Select head", kind, kKinds)),
          continuous(number_field("corpus", "layer", "Select head", layer, 0U, kLastIndex)),
          continuous(number_field("corpus", "head", "Select head", at<kHead, &HeadRef::head>(), 0U, kLastIndex))};
}

/// What is compared, and the views that change runs in the background.
std::vector<Field> comparison_fields() {
  constexpr const char* kReceiverLabel = "Choose where paths end";
  return {
      described(value_field("compare", "baseline", "", at<&State::compare, &CompareChoices::baseline>(), write_baseline,
                            read_baseline),
                [](const State& before, const State& after) {
                  if (has_second_text(before) && has_second_text(after)) {
                    return Change{.label = "Edit second text", .is_continuous = true};
                  }
                  const char* begun = after.compare.is_second_text ? "Open a second text" : "Keep a baseline";
                  return Change{.label = after.compare.baseline ? begun : "Stop comparing"};
                }),
      switch_field("compare", "is_second_text", "Compare with a second text",
                   at<&State::compare, &CompareChoices::is_second_text>()),
      switch_field("compare", "shows_difference", "Switch differences",
                   at<&State::compare, &CompareChoices::shows_difference>()),
      choice_field("patching", "map", "Choose what is patched", in_patching<&PatchingChoices::map>(), kPatchMaps,
                   {.name = "--patch",
                    .help = "the views Patching and Prompts: what is put from one run into the other",
                    .tells_default = false}),
      choice_field("patching", "measure", "Choose what patches change", in_patching<&PatchingChoices::measure>(),
                   kPatchMeasures),
      switch_field("patching", "into_baseline", "Choose the patched run", in_patching<&PatchingChoices::into_baseline>()),
      value_field("patching", "token", "Choose the patched token", in_patching<&PatchingChoices::token>(), write_token,
                  read_token),
      switch_field("patching", "at_token", "Choose where heads are patched", in_patching<&PatchingChoices::at_token>()),
      choice_field("patching", "part", "Choose what of heads is patched", in_patching<&PatchingChoices::part>(), kHeadSites),
      choice_field("patching", "path_kind", kReceiverLabel, in_receiver<&PathReceiver::kind>(), kKinds),
      number_field("patching", "path_layer", kReceiverLabel, in_receiver<&PathReceiver::layer>(), 0U, kLastLayer),
      number_field("patching", "path_head", kReceiverLabel, in_receiver<&PathReceiver::head>(), 0U, kLastIndex),
      choice_field("patching", "path_input", kReceiverLabel, in_receiver<&PathReceiver::input>(), kPathInputs),
      switch_field("patching", "path_mlps", "Choose whether paths lead through MLPs",
                   in_receiver<&PathReceiver::recomputes_mlps>())};
}

/// How the views of all heads score, order and filter them.
std::vector<Field> head_view_fields() {
  const auto metric_field = [](const char* key, const char* label, const Member<std::optional<evaluation::HeadMetric>>& at) {
    return value_field("heads", key, label, at, write_metric, read_metric);
  };
  // Not "measure", by which older files name what scores were there: their users didn't choose it.
  return {
      choice_field("heads", "score", "Choose how heads are scored",
                   in_heads<&HeadChoices::scoring, &PatternScoring::measure>(), kPatternMeasures),
      switch_field("heads", "excludes_first", "Choose how heads are scored", in_exclusions<&Exclusions::first_token>()),
      switch_field("heads", "excludes_current", "Choose how heads are scored", in_exclusions<&Exclusions::current_token>()),
      metric_field("order", "Order heads", in_heads<&HeadChoices::order>()),
      switch_field("heads", "lowest_first", "Order heads", in_heads<&HeadChoices::lowest_first>()),
      metric_field("filter", "Filter heads", in_heads<&HeadChoices::filter>()),
      continuous(number_field("heads", "least", "Filter heads", in_heads<&HeadChoices::least>(), -1e6f, 1e6f)),
      switch_field("heads", "only_pinned", "Filter heads", in_heads<&HeadChoices::only_pinned>()),
      switch_field("heads", "shows_badges", "Switch badges", in_heads<&HeadChoices::shows_badges>()),
      value_field("heads", "pinned", "Pin heads", in_heads<&HeadChoices::pinned>(), write_heads, read_heads)};
}

/// What the lines, the text and the map show.
std::vector<Field> view_part_fields() {
  return {switch_field("lines", "shows_selected", "Choose heads of the lines",
                       at<&State::view, &ViewChoices::lines, &LineChoices::shows_selected>()),
          value_field("lines", "hidden_heads", "Choose heads of the lines",
                      at<&State::view, &ViewChoices::lines, &LineChoices::hidden_heads>(), write_head_numbers,
                      read_head_numbers),
          continuous(number_field("lines", "threshold", "Change threshold of the lines",
                                  at<&State::view, &ViewChoices::lines, &LineChoices::threshold>(), kMinLineWeight,
                                  kMaxLineWeight)),
          choice_field("lines", "pair_part", "Choose sentences of the lines",
                       at<&State::view, &ViewChoices::lines, &LineChoices::pair_part>(), kPairParts)};
}

}  // namespace

std::vector<Field> view_fields() {
  return fields_of({window_fields, single_view_fields, view_part_fields, head_view_fields, comparison_fields});
}

}  // namespace headlight::app
