#include "app/commands/command_list.h"
#include "app/state/map_settings.h"

namespace headlight::app {
namespace {

Command map_of(std::string id, attention::Stage stage, bool is_norm, const char* label, const char* menu_label,
               const char* meaning) {
  return {.id = std::move(id),
          .label = label,
          .help = meaning,
          .menu = {"View", menu_label, 1, "Map"},
          .works_while_loading = true,
          .run =
              [stage, is_norm](const CommandContext& context) {
                context.state.view.heatmap_stage = stage;
                context.state.view.weighs_values = is_norm;
              },
          .is_enabled =
              [stage, is_norm](const CommandContext& context) {
                const auto shape = context.shapes.find(context.state.selection.block);
                if (shape == context.shapes.end()) return true;
                return is_norm ? shape->second.has_values : shape->second.extent(stage).has_value();
              },
          .is_checked =
              [stage, is_norm](const CommandContext& context) {
                const ViewChoices& view = context.state.view;
                return view.heatmap_stage == stage && view.weighs_values == is_norm;
              }};
}

Command stage(attention::Stage stage, const char* label, const char* menu_label, const char* meaning) {
  const std::string name(attention::to_string(stage));
  return map_of("map.stage." + name, stage, false, label, menu_label, meaning);
}

/// `is_fixed`: the ends are values; else those of each map, or of each row.
Command range_command(const char* id, const char* label, const char* menu_label, const char* help, ColorRange range,
                      bool is_fixed) {
  return {.id = id,
          .label = label,
          .help = help,
          .menu = {"View", menu_label, 1, "Colour range"},
          .works_while_loading = true,
          .run =
              [=](const CommandContext& context) {
                auto& limits = context.state.view.color_limits;
                context.state.set(kMapView.color_range, range);
                if (range == ColorRange::PerRow) return;
                if (is_fixed)
                  limits.try_emplace(attention::Stage::Weights, chart::ValueLimits{.low = 0.0F, .high = 1.0F});
                else
                  limits.erase(attention::Stage::Weights);
              },
          .is_checked =
              [=](const CommandContext& context) {
                const bool has_limits = context.state.view.color_limits.contains(attention::Stage::Weights);
                return context.state[kMapView.color_range] == range &&
                       (range == ColorRange::PerRow || has_limits == is_fixed);
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
  using attention::Stage;
  return {
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
       .is_checked = shows_alignment},
      stage(Stage::Scores, "Map of raw scores", "Raw scores", "Query times key, before the scale."),
      stage(Stage::ContentPosition, "Map of content to position", "Content to position",
            "Query times the vector of the distance to the key (DeBERTa, BERT with relative keys)."),
      stage(Stage::PositionContent, "Map of position to content", "Position to content",
            "Key times the vector of the query's distance to it (DeBERTa, BERT with relative keys)."),
      stage(Stage::Scaled, "Map of scaled scores", "Scaled scores", "Raw scores times the scale, usually 1/\u221Ad_k."),
      stage(Stage::Masked, "Map of masked scores", "Masked scores", "Scaled scores with the fill where the mask denies."),
      stage(Stage::Weights, "Map of weights", "Weights",
            "Softmax of the masked scores: what each query takes from each key."),
      map_of("map.stage.norms", Stage::Weights, true, "Map of what keys add (norms)",
             "What keys add \u2016weight\u00b7v\u00b7W_O\u2016",
             "How much each key adds to the query's residual stream: the length of its value after W_O, times "
             "its weight (Kobayashi et al. 2020)."),
      range_command("map.range.absolute", "Colour range: to each head's largest weight", "To the largest",
                    "The strongest colour is the head's largest weight, without rows that see a single key.",
                    ColorRange::Largest, false),
      range_command("map.range.quantile", "Colour range: to 98 % of the weights", "To 98 %",
                    "The strongest colour is what 98 % of the map's weights are at most: of a long text, whose "
                    "weights are small.",
                    ColorRange::Quantile, false),
      range_command("map.range.row", "Colour range: each row its own", "Each row its own",
                    "Colours compare the cells of a row: the strongest colour is the row's largest weight.",
                    ColorRange::PerRow, false),
      range_command("map.range.fixed", "Colour range: fixed", "Fixed",
                    "All maps of weights have the same colours, from 0 to 1 until the ends of the colour bar are "
                    "dragged or typed.",
                    ColorRange::Largest, true),
      {.id = "map.fit",
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
      setting_toggle("map.numbers", kMapView.show_numbers)};
}

}  // namespace headlight::app
