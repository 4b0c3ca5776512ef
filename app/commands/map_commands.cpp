#include "app/commands/command_list.h"
#include "chart/color.h"

namespace headlight::app {
namespace {

Command special_tokens(const char* id, const char* label, const char* help, SpecialTokens value) {
  return view_choice(id, label, help, {.menu = "View", .submenu = "Words and bars", .label = label, .section = 1, .part = 1},
                     &ViewChoices::special_tokens, value);
}

Command map_of(std::string id, attention::Stage stage, bool is_norm, const char* label, const char* menu_label,
               const char* meaning) {
  return {.id = std::move(id),
          .label = label,
          .help = meaning,
          .menu = {.menu = "View", .submenu = "Map", .label = menu_label, .section = 1},
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

void add_stages(std::vector<Command>& list) {
  using attention::Stage;
  list.push_back(stage(Stage::Scores, "Map of raw scores", "Raw scores", "Query times key, before the scale."));
  list.push_back(stage(Stage::ContentPosition, "Map of content to position", "Content to position",
                       "Query times the vector of the distance to the key (DeBERTa, BERT with relative keys)."));
  list.push_back(stage(Stage::PositionContent, "Map of position to content", "Position to content",
                       "Key times the vector of the query's distance to it (DeBERTa, BERT with relative keys)."));
  list.push_back(
      stage(Stage::Scaled, "Map of scaled scores", "Scaled scores", "Raw scores times the scale, usually 1/\u221Ad_k."));
  list.push_back(
      stage(Stage::Masked, "Map of masked scores", "Masked scores", "Scaled scores with the fill where the mask denies."));
  list.push_back(stage(Stage::Weights, "Map of weights", "Weights",
                       "Softmax of the masked scores: what each query takes from each key."));
  list.push_back(map_of("map.stage.norms", Stage::Weights, true, "Map of what keys add (norms)",
                        "What keys add \u2016weight\u00b7v\u00b7W_O\u2016",
                        "How much each key adds to the query's residual stream: the length of its value after W_O, times "
                        "its weight (Kobayashi et al. 2020)."));
}

void add_color_maps(std::vector<Command>& list) {
  for (const chart::ColorMap map : chart::kColorMaps) {
    if (map == chart::ColorMap::BlueRed) continue;  // diverging: of scores, never of weights
    const std::string name(chart::to_string(map));
    list.push_back(view_choice("map.color." + name, "Colour map " + name, "Draws the weights in these colours.",
                               {.menu = "View", .submenu = "Colour map", .label = name, .section = 1},
                               &ViewChoices::color_map, name));
  }
}

void add_ranges(std::vector<Command>& list) {
  const auto entry = [](const char* label, int part) {
    return MenuEntry{.menu = "View", .submenu = "Colour range", .label = label, .section = 1, .part = part};
  };
  Command absolute =
      view_choice("map.range.absolute", "Colour range: fitted to each map",
                  "The strongest colour is the map's largest weight, or in a long text what 98 % of its weights "
                  "are at most.",
                  entry("Fitted", 0), &ViewChoices::color_range, ColorRange::Absolute);
  absolute.run = [](const CommandContext& context) {
    context.state.view.color_range = ColorRange::Absolute;
    context.state.view.color_limits.erase(attention::Stage::Weights);
  };
  absolute.is_checked = [](const CommandContext& context) {
    const ViewChoices& view = context.state.view;
    return view.color_range == ColorRange::Absolute && !view.color_limits.contains(attention::Stage::Weights);
  };
  list.push_back(std::move(absolute));
  list.push_back(view_choice("map.range.row", "Colour range: each row its own",
                             "Colours compare the cells of a row: the strongest colour is the row's largest weight.",
                             entry("Each row its own", 0), &ViewChoices::color_range, ColorRange::PerRow));
  Command fixed =
      view_choice("map.range.fixed", "Colour range: fixed",
                  "All maps of weights have the same colours, from 0 to 1 until the ends of the colour bar are dragged "
                  "or typed.",
                  entry("Fixed", 0), &ViewChoices::color_range, ColorRange::Absolute);
  fixed.run = [](const CommandContext& context) {
    context.state.view.color_range = ColorRange::Absolute;
    context.state.view.color_limits.try_emplace(attention::Stage::Weights, chart::ValueLimits{.low = 0.0F, .high = 1.0F});
  };
  fixed.is_checked = [](const CommandContext& context) {
    const ViewChoices& view = context.state.view;
    return view.color_range == ColorRange::Absolute && view.color_limits.contains(attention::Stage::Weights);
  };
  list.push_back(std::move(fixed));
  list.push_back(view_choice("map.spread.linear", "Colour scale: linear", "Colours follow the weights.", entry("Linear", 1),
                             &ViewChoices::color_spread, chart::ScaleSpread::Linear));
  list.push_back(view_choice("map.spread.sqrt", "Colour scale: square root",
                             "Colours follow the square roots of the weights, so that small ones can be told apart.",
                             entry("Square root", 1), &ViewChoices::color_spread, chart::ScaleSpread::Root));
  list.push_back(view_choice("map.spread.log", "Colour scale: logarithmic",
                             "Colours follow the logarithms of the weights, so that small ones can be told apart.",
                             entry("Logarithmic", 1), &ViewChoices::color_spread, chart::ScaleSpread::Log));
  list.push_back(
      view_choice("map.pool.max", "Where a pixel covers several cells: their largest weight",
                  "A pixel of a long text's map shows the largest weight of the cells under it: no peak vanishes.",
                  entry("Pixels show the largest weight", 2), &ViewChoices::pooling, attention::Pooling::Max));
  list.push_back(view_choice("map.pool.mean", "Where a pixel covers several cells: their mean weight",
                             "A pixel of a long text's map shows the mean weight of the cells under it.",
                             entry("Pixels show the mean weight", 2), &ViewChoices::pooling, attention::Pooling::Mean));
  list.push_back({.id = "map.fit",
                  .label = "Fit the colour range to every map",
                  .help = "Forgets the colour ranges that were dragged: each map has its own again.",
                  .menu = entry("Fit every map", 3),
                  .works_while_loading = true,
                  .run = [](const CommandContext& context) { context.state.view.color_limits.clear(); },
                  .is_enabled = [](const CommandContext& context) { return !context.state.view.color_limits.empty(); }});
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

void add_context_menus(std::vector<Command>& list) {
  list.push_back(context_menu("menu.cell", "Menu of the pinned cell", MenuTarget::Cell, [](const CommandContext& context) {
    return has_run(context) && context.state.view.pinned.has_value();
  }));
  list.push_back(
      context_menu("menu.range", "Menu of the dragged range", MenuTarget::Range,
                   [](const CommandContext& context) { return has_run(context) && context.transient.range.has_value(); }));
  list.push_back(context_menu("menu.head", "Menu of the selected head", MenuTarget::Head,
                              [](const CommandContext& context) { return has_run(context); }));
  list.push_back({.id = "map.unpin",
                  .label = "Unpin the cell",
                  .help = "The pinned cell is let go.",
                  .words = "Automatic",
                  .menus_of = kOfCell,
                  .run = [](const CommandContext& context) { context.state.view.pinned.reset(); },
                  .is_enabled = [](const CommandContext& context) { return context.state.view.pinned.has_value(); }});
}

}  // namespace

std::vector<Command> map_commands() {
  std::vector<Command> list;
  add_context_menus(list);
  list.push_back({.id = "map.alignment",
                  .label = "Show the alignment (mean of cross-attention)",
                  .help = "The mean of all heads of cross-attention: which source words each written word comes from.",
                  .menu = {.menu = "View", .label = "Alignment (mean of cross-attention)", .section = 0},
                  .run = show_alignment,
                  .is_enabled = has_cross_attention,
                  .is_checked = shows_alignment});
  add_stages(list);
  add_color_maps(list);
  add_ranges(list);
  list.push_back(view_choice("map.order.layer", "Grid by layer and head", "Layer by layer, each with its heads from 0 on.",
                             {.menu = "View", .submenu = "Order of the grid", .label = "By layer and head", .section = 1},
                             &ViewChoices::grid_order, GridOrder::ByLayer));
  list.push_back(
      view_choice("map.order.concentration", "Grid by concentration, the most concentrated heads first",
                  "Heads that look at few tokens come before heads that look at many.",
                  {.menu = "View", .submenu = "Order of the grid", .label = "Most concentrated first", .section = 1},
                  &ViewChoices::grid_order, GridOrder::ByConcentration));
  const auto in_bars = [](const char* label) {
    return MenuEntry{.menu = "View", .submenu = "Words and bars", .label = label, .section = 1};
  };
  list.push_back(view_toggle("map.words", "Map of words instead of tokens",
                             "Weights to a word's tokens are added up, weights from them averaged.",
                             in_bars("Words instead of tokens"), &ViewChoices::groups_words));
  list.push_back(view_toggle("map.bars", "Bars of attention given and received",
                             "Bars beside the map: what queries give to other tokens, and what keys receive on average.",
                             in_bars("Bars of attention given and received"), &ViewChoices::shows_marginals));
  list.push_back(special_tokens("map.special.shown", "Map of all tokens",
                                "Special tokens have rows and columns like others.", SpecialTokens::Shown));
  list.push_back(special_tokens("map.special.hidden", "Map without special tokens",
                                "Special tokens are left out; what is left of a row isn't changed.", SpecialTokens::Hidden));
  list.push_back(special_tokens("map.special.renormalized", "Map without special tokens, renormalised",
                                "Special tokens are left out, and each row is divided by what is left of it.",
                                SpecialTokens::Renormalized));
  list.push_back({.id = "map.verify",
                  .label = "Check the head against double precision, or stop",
                  .help = "Computes the selected head's weights again in double precision; the status bar shows the largest "
                          "difference.",
                  .menu = {.menu = "View", .label = "Check against double precision", .section = 1},
                  .works_while_loading = true,
                  .run = [](const CommandContext& context) { context.window.toggle_verification(); },
                  .is_checked = [](const CommandContext& context) { return context.window.verifies_head(); }});
  list.push_back(view_toggle("map.numbers", "Numbers in cells on or off",
                             "Writes each value into its cell where it has room.",
                             {.menu = "View", .label = "Numbers in cells", .section = 1}, &ViewChoices::show_numbers));
  list.push_back(view_toggle("steps.all_heads", "All heads in Steps on or off",
                             "Shows whole matrices, how they are cut into heads, and how the heads are put together again.",
                             {}, &ViewChoices::steps_all_heads));
  return list;
}

}  // namespace headlight::app
