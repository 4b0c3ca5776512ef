#include "app/commands/command_list.h"
#include "app/state/map_settings.h"

namespace headlight::app {
namespace {

using attention::Stage;

/// A stage that the map can show; `is_norm`: the weights by the norms of what keys add.
struct StageMap {
  const char* id;
  Stage stage;
  const char *label, *menu_label, *help;
  bool is_norm = false;
};

const StageMap kStageMaps[] = {
    {"map.stage.scores", Stage::Scores, "Map of raw scores", "Raw scores", "Query times key, before the scale."},
    {"map.stage.content_position", Stage::ContentPosition, "Map of content to position", "Content to position",
     "Query times the vector of the distance to the key (DeBERTa, BERT with relative keys)."},
    {"map.stage.position_content", Stage::PositionContent, "Map of position to content", "Position to content",
     "Key times the vector of the query's distance to it (DeBERTa, BERT with relative keys)."},
    {"map.stage.scaled", Stage::Scaled, "Map of scaled scores", "Scaled scores",
     "Raw scores times the scale, usually 1/\u221Ad_k."},
    {"map.stage.masked", Stage::Masked, "Map of masked scores", "Masked scores",
     "Scaled scores with the fill where the mask denies."},
    {"map.stage.weights", Stage::Weights, "Map of weights", "Weights",
     "Softmax of the masked scores: what each query takes from each key."},
    {"map.stage.norms", Stage::Weights, "Map of what keys add (norms)", "What keys add \u2016weight\u00b7v\u00b7W_O\u2016",
     "How much each key adds to the query's residual stream: the length of its value after W_O, times "
     "its weight (Kobayashi et al. 2020).",
     true}};

Command map_command(const StageMap& map) {
  return {.id = map.id,
          .label = map.label,
          .help = map.help,
          .menu = {"View", map.menu_label, 1, "Map"},
          .works_while_loading = true,
          .run =
              [&map](const CommandContext& context) {
                context.state.view.heatmap_stage = map.stage;
                context.state.view.weighs_values = map.is_norm;
              },
          .is_enabled =
              [&map](const CommandContext& context) {
                const auto shape = context.shapes.find(context.state.selection.block);
                if (shape == context.shapes.end()) return true;
                return map.is_norm ? shape->second.has_values : shape->second.extent(map.stage).has_value();
              },
          .is_checked =
              [&map](const CommandContext& context) {
                const ViewChoices& view = context.state.view;
                return view.heatmap_stage == map.stage && view.weighs_values == map.is_norm;
              }};
}

/// A range of the colours; `is_fixed`: its ends are values, else those of each map, or of each row.
struct RangeChoice {
  const char *id, *label, *menu_label, *help;
  ColorRange range;
  bool is_fixed = false;
};

const RangeChoice kRanges[] = {
    {"map.range.absolute", "Colour range: to each head's largest weight", "To the largest",
     "The strongest colour is the head's largest weight, without rows that see a single key.", ColorRange::Largest},
    {"map.range.quantile", "Colour range: to 98 % of the weights", "To 98 %",
     "The strongest colour is what 98 % of the map's weights are at most: of a long text, whose "
     "weights are small.",
     ColorRange::Quantile},
    {"map.range.row", "Colour range: each row its own", "Each row its own",
     "Colours compare the cells of a row: the strongest colour is the row's largest weight.", ColorRange::PerRow},
    {"map.range.fixed", "Colour range: fixed", "Fixed",
     "All maps of weights have the same colours, from 0 to 1 until the ends of the colour bar are "
     "dragged or typed.",
     ColorRange::Largest, true}};

Command range_command(const RangeChoice& choice) {
  return {.id = choice.id,
          .label = choice.label,
          .help = choice.help,
          .menu = {"View", choice.menu_label, 1, "Colour range"},
          .works_while_loading = true,
          .run =
              [&choice](const CommandContext& context) {
                auto& limits = context.state.view.color_limits;
                context.state.set(kMapView.color_range, choice.range);
                if (choice.range == ColorRange::PerRow) return;
                if (choice.is_fixed)
                  limits.try_emplace(Stage::Weights, chart::ValueLimits{.low = 0.0F, .high = 1.0F});
                else
                  limits.erase(Stage::Weights);
              },
          .is_checked =
              [&choice](const CommandContext& context) {
                const bool has_limits = context.state.view.color_limits.contains(Stage::Weights);
                return context.state[kMapView.color_range] == choice.range &&
                       (choice.range == ColorRange::PerRow || has_limits == choice.is_fixed);
              }};
}

bool has_cross_attention(const CommandContext& context) {
  return std::ranges::any_of(context.shapes, [](const auto& shape) { return shape.first.kind == model::BlockKind::Cross; });
}

void show_alignment(const CommandContext& context) {
  Selection& selection = context.state.selection;
  selection.block.kind = model::BlockKind::Cross;
  selection.mean = HeadMean::Kind;
  context.state.view.tab = kHeadView;
  clamp_selection(context.state, context.shapes);
}

bool shows_alignment(const CommandContext& context) {
  const Selection& selection = context.state.selection;
  return selection.mean == HeadMean::Kind && selection.block.kind == model::BlockKind::Cross &&
         context.state.view.tab == kHeadView;
}

/// Returns the command for a menu of what can be done with the pinned cell, the dragged range or the selected head.
Command context_menu(const char* id, const char* label, MenuTarget target, bool (*is_enabled)(const CommandContext&)) {
  return {.id = id,
          .label = label,
          .help = "Opens a menu of what can be done with it, as a right click does.",
          .run = [target](const CommandContext& context) { context.window.open_menu(target); },
          .is_enabled = is_enabled};
}

}  // namespace

std::vector<Command> map_commands() {
  std::vector<Command> list{
      context_menu("menu.cell", "Menu of the pinned cell", MenuTarget::Cell, has_pin),
      context_menu("menu.range", "Menu of the dragged range", MenuTarget::Range,
                   [](const CommandContext& context) { return has_run(context) && context.transient.range.has_value(); }),
      context_menu("menu.head", "Menu of the selected head", MenuTarget::Head, has_run),
      {.id = "map.unpin",
       .label = "Unpin the cell",
       .help = "The pinned cell is let go.",
       .words = "Automatic",
       .menus_of = kOfCell,
       .run = [](const CommandContext& context) { context.state.view.pinned.reset(); },
       .is_enabled = [](const CommandContext& context) { return context.state.view.pinned.has_value(); }},
      {.id = "map.alignment",
       .label = "Show the alignment (mean of cross-attention)",
       .help = "The mean of all heads of cross-attention: which source words each written word comes from.",
       .menu = {"View", "Alignment (mean of cross-attention)", 0},
       .run = show_alignment,
       .is_enabled = has_cross_attention,
       .is_checked = shows_alignment}};
  for (const StageMap& map : kStageMaps) list.push_back(map_command(map));
  for (const RangeChoice& choice : kRanges) list.push_back(range_command(choice));
  list.insert(list.end(),
              {{.id = "map.fit",
                .label = "Fit the colour range to every map",
                .help = "Forgets the colour ranges that were dragged: each map has its own again.",
                .menu = {"View", "Fit every map", 1, "Colour range", 1},
                .works_while_loading = true,
                .run = [](const CommandContext& context) { context.state.view.color_limits.clear(); },
                .is_enabled = [](const CommandContext& context) { return !context.state.view.color_limits.empty(); }},
               setting_toggle("map.words", kMapView.groups_words, "Words and bars"),
               setting_toggle("map.bars", kMapView.shows_marginals, "Words and bars"),
               {.id = "map.verify",
                .label = "Check the head against double precision, or stop",
                .help = "Computes the selected head's weights again in double precision; the status bar shows the largest "
                        "difference.",
                .menu = {"View", "Check against double precision", 1},
                .works_while_loading = true,
                .run = of_window(&CommandHost::toggle_verification),
                .is_checked = of_window(&CommandHost::verifies_head)},
               setting_toggle("map.numbers", kMapView.show_numbers)});
  return list;
}

}  // namespace headlight::app
