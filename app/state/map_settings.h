#pragma once

#include "app/state/map_options.h"
#include "app/state/view_choices.h"
#include "attention/fixed_pattern.h"
#include "attention/mask.h"
#include "chart/color.h"

namespace headlight::app {

// The looks of maps, of the brush and of single views: all in one object in files.

struct MapSettings : SettingGroup {
  MapSettings() : SettingGroup{.name = "view", .is_look = true} {}

  Setting<chart::ColorMap> color_map{*this,
                                     {.key = "color_map",
                                      .undo = "Choose colour map",
                                      .options = color_map_options(),
                                      .menu = "Colour map",
                                      .flag = "--color-map",
                                      .flag_help = "colours of the heatmaps"}};
  Setting<ColorRange> color_range{
      *this, {.key = "color_range", .undo = "Choose colour range", .options = {{"largest"}, {"row"}, {"quantile"}}}};
  /// The growth of colours with weights; scores have both signs and none.
  Setting<chart::ScaleSpread> color_spread{
      *this, {.key = "color_spread", .undo = "Choose colour scale", .options = spread_options(), .menu = "Colour scale"}};
  /// The weight that a pixel shows which covers several cells.
  Setting<attention::Pooling> pooling{
      *this,
      {.key = "pooling",
       .undo = "Choose what a pixel shows",
       .options = {{"max", "the largest weight",
                    "A pixel of a long text's map shows the largest weight of the cells under it: no peak vanishes."},
                   {"mean", "the mean weight", "A pixel of a long text's map shows the mean weight of the cells under it."}},
       .menu = "Pixels show",
       .flag = "--pooling",
       .flag_help = "what a value shows of weights where it covers several cells, their largest or their mean"}};
  Setting<RowNames> row_names{*this, {.key = "row_names", .undo = "Name rows", .options = row_name_options()}};
  Setting<GridOrder> grid_order{
      *this,
      {.key = "grid_order",
       .undo = "Choose grid order",
       .options = {{"layer", "By layer", "Layer by layer, each with its heads from 0 on."},
                   {"concentration", "By concentration",
                    "Concentration is the mean of the rows' largest weights: heads that attend to few tokens come first."}},
       .menu = "Order of the grid"}};
  /// In the cells, where they fit.
  Setting<bool> show_numbers{*this,
                             {.key = "show_numbers",
                              .undo = "Switch numbers",
                              .label = "Numbers in cells",
                              .help = "Writes each value into its cell where it has room."},
                             true};
  /// Below a translator's texts: the words of a tokenizer of whole words.
  Setting<bool> whole_words{
      *this,
      {.key = "whole_words",
       .undo = "Switch whole words",
       .label = "Whole words",
       .help =
           "Below the tokens: the words that notebook 002's tokenizer makes of the texts, by spaCy's rules, and <unk> for "
           "those that its training text has less than twice."}};
  Setting<SpecialTokens> special_tokens{
      *this,
      {.key = "special_tokens",
       .undo = "Choose what is shown of special tokens",
       .options = {{"shown", "All tokens", "Special tokens have rows and columns like others."},
                   {"hidden", "Without special tokens",
                    "Leaves special tokens out: a row sums to what the query gives to the others."},
                   {"renormalized", "Without special tokens, renormalised",
                    "Leaves special tokens out, and divides each row by what is left of it."}},
       .menu = "Words and bars"}};
  /// The big heatmap has a row and a column for each word instead of each token.
  Setting<bool> groups_words{
      *this,
      {.key = "groups_words",
       .undo = "Switch words",
       .label = "Words instead of tokens",
       .help = "One row and one column for each word: weights to its tokens add up, weights from them are averaged."}};
  Setting<bool> shows_marginals{
      *this,
      {.key = "shows_marginals",
       .undo = "Switch marginals",
       .label = "Bars of attention given and received",
       .help = "Bars beside the map: what each query gives to other tokens, and what each key receives on average."}};
};
inline const MapSettings kMapView;

struct TextSettings : SettingGroup {
  TextSettings() : SettingGroup{.name = "view", .view = "text", .is_look = true} {}

  /// The running text is shaded by what a token attends to (Query), or by what attends to it.
  Setting<MapSide> side{
      *this,
      {.key = "text_side",
       .undo = "Choose what shades the text",
       .options = {{"query", "attends to", "Shades each token by the weight that the chosen token gives to it."},
                   {"key", "is attended by", "Shades each token by the weight that it gives to the chosen token."}}}};
};
inline const TextSettings kTextView;

struct StepsSettings : SettingGroup {
  StepsSettings() : SettingGroup{.name = "view", .view = "steps", .is_look = true} {}

  Setting<bool> all_heads{
      *this,
      {.key = "steps_all_heads",
       .undo = "Switch all heads",
       .options = {
           {"off", "one head", "The matrices of the selected head."},
           {"on", "all heads", "Whole matrices: how Q is cut into heads, and how the heads are put together again."}}}};
};
inline const StepsSettings kStepsView;

struct BrushSettings : SettingGroup {
  BrushSettings() : SettingGroup{.name = "view", .view = kHeadView, .is_look = true} {}

  Setting<PaintReach> reach{
      *this,
      {.key = "paint_reach",
       .undo = "Choose paint reach",
       .options = {{"head", "head", "Painting masks cells of this head only."},
                   {"layer", "layer", "Painting masks cells of all heads of this layer."},
                   {"later", "later", "Painting masks cells of all heads of this layer and of those after it."},
                   {"all", "all", "Painting masks cells of all heads of all layers."}},
       .label = "Paints",
       .help = "The maps that change with the one on screen. A pattern is one head's."}};
  Setting<BrushShape> shape{
      *this,
      {.key = "brush_shape",
       .undo = "Choose brush",
       .options = {{"cell", "cell", "The brush masks the cell under it, or shows it again."},
                   {"row", "row", "The brush masks the whole row of a query, or shows it."},
                   {"column", "col", "The brush masks the whole column of a key, or shows it."},
                   {"diagonal", "diag", "The brush masks every cell with the same distance of query and key, or shows it."},
                   {"rectangle", "box", "A drag of the brush masks a rectangle, or shows it."}},
       .label = "Shape"}};
  Setting<BrushInk> ink{
      *this,
      {.key = "brush_ink",
       .undo = "Choose brush",
       .options = {{"mask", "mask", "The brush hides cells, or shows them again."},
                   {"bias", "bias", "The brush adds a bias to the scores of cells."},
                   {"pattern", "pattern",
                    "The brush paints a pattern in place of this head's own: painted rows attend by the painted weights, "
                    "divided by their sum."}},
       .label = "Puts"}};
  Setting<float> bias{*this,
                      {.key = "brush_bias",
                       .undo = "Choose brush",
                       .least = -attention::kMaxBias,
                       .most = attention::kMaxBias,
                       .is_continuous = true},
                      2.0F};
  Setting<float> weight{
      *this,
      {.key = "brush_weight", .undo = "Choose brush", .most = attention::kMaxPatternWeight, .is_continuous = true},
      1.0F};
};
inline const BrushSettings kBrush;

}  // namespace headlight::app
