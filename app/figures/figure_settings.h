#pragma once

#include "app/state/map_options.h"
#include "app/state/view_choices.h"
#include "chart/color.h"
#include "export/figure.h"

namespace headlight::app {

/// Limits of a figure's size and resolution.
inline constexpr float kMinMapEdge_mm = 10.0F, kMaxMapEdge_mm = 1'000.0F, kMinWidth_mm = 30.0F;
/// Widths of a journal's column and of its page.
inline constexpr float kColumn_mm = 84.0F, kPage_mm = 174.0F;
inline constexpr std::uint32_t kMinDpi = 48, kMaxDpi = 960;

/// Read a theme's name; a length on paper in mm, of which a number alone is one too: "84mm", "8.4cm", "3.3in", "239pt",
/// "317px". Throw UsageError.
SettingValue parse_ground(const std::string& flag, const std::string& text);
SettingValue parse_width(const std::string& flag, const std::string& text);
SettingValue parse_edge(const std::string& flag, const std::string& text);

// How exported figures look: members of ExportOptions, of the figure's own record in its file, fields of the Export dialog,
// and flags.

/// The page, its letters and the names on it.
struct FigureDetails : SettingGroup {
  FigureDetails() : SettingGroup{.name = "export"} {}

  /// The whole figure's width; its maps are as large as fits into it.
  Setting<float> width_mm{
      *this,
      {.key = "width_mm",
       .least = kMinWidth_mm,
       .most = kMaxMapEdge_mm,
       .zero = "auto",
       .step = 10,
       .label = "Width (mm)",
       .help = "Of the whole figure, as a column of a paper has: maps are as large as fits; auto: the size says it.",
       .flag = "--width",
       .flag_help =
           "width of the whole figure, as a column of a paper has: 84mm, 8.4cm, 3.3in, 239pt (LaTeX's) or 317px, from "
           "{least} to {most} mm; letters keep their size, maps are as large as fits",
       .flag_value = "LENGTH",
       .parse_flag = parse_width}};
  Setting<bool> is_dark{*this,
                        {.key = "dark",
                         .options = {{"off", "white", "Ink for white paper."}, {"on", "dark", "Ink for dark slides."}},
                         .label = "Ground",
                         .flag = "--theme",
                         .flag_help = "ground of the figures (default light)",
                         .flag_value = "dark|light",
                         .parse_flag = parse_ground}};
  Setting<bool> is_transparent{*this,
                               {.key = "transparent",
                                .label = "No ground",
                                .help = "Slides and pages show through beside the cells.",
                                .flag = "--transparent",
                                .flag_help = "figures without a ground, in the inks of --theme",
                                .flag_is_plain = true}};
  Setting<exporting::FigureFont> font{
      *this,
      {.key = "font",
       .options = {{"sans", "sans", "Letters as the window has them."},
                   {"serif", "serif", "Letters of LaTeX, Latin Modern, where they are installed."}},
       .label = "Letters",
       .flag = "--font",
       .flag_help = "letters of the figures; serif is LaTeX's, Latin Modern, which must be installed"}};
  Setting<RowNames> row_names{
      *this,
      {.key = "rows",
       .options = row_name_options(),
       .label = "Rows",
       .help = "How a decoder's rows are named.",
       .flag = "--rows",
       .flag_help =
           "how figures name a decoder's rows: by the token that it reads there, or the next, which it writes (default "
           "{usual})",
       .flag_value = "read|written"},
      RowNames::Read};
  /// The growth of colours with weights; scores have both signs and none.
  Setting<chart::ScaleSpread> color_spread{
      *this,
      {.key = "spread",
       .options = spread_options(),
       .label = "Colour scale",
       .flag = "--color-scale",
       .flag_help = "colours spread evenly over the weights, their square roots or their logarithms (default {usual})"}};
  Setting<bool> is_quantile{
      *this,
      {.key = "quantile",
       .label = "Colours to 98 %",
       .help = "The strongest colour is what 98 % of a map's weights are at most: of a long text, whose weights are small.",
       .flag = "--quantile",
       .flag_help = "colours end at what 98 % of a map's weights are at most instead of at its largest",
       .flag_is_plain = true}};
};
inline const FigureDetails kFigureDetails;

/// The title, sizes and colours of what is on the page.
struct FigureLook : SettingGroup {
  FigureLook() : SettingGroup{.name = "export"} {}

  Setting<std::string> title{*this,
                             {.key = "title",
                              .zero = "what each figure shows",
                              .label = "Title",
                              .help = "Stands above every figure; empty: each says what it shows.",
                              .flag = "--title",
                              .flag_help = "title of every figure (default: which matrix it shows)",
                              .flag_value = "TEXT"}};
  /// The longer side of a map on paper.
  Setting<float> map_edge_mm{
      *this,
      {.key = "size_mm",
       .least = kMinMapEdge_mm,
       .most = kMaxMapEdge_mm,
       .zero = "auto",
       .step = 10,
       .label = "Size (mm)",
       .help = "The longer side of a map on paper; auto: as large as its cells and numbers need.",
       .flag = "--size",
       .flag_help = "instead of a width, the longer side of a map on paper, likewise, from {least} mm on "
                    "(default: as its cells need)",
       .flag_value = "LENGTH",
       .parse_flag = parse_edge}};
  Setting<std::uint32_t> dpi{*this,
                             {.key = "dpi",
                              .least = kMinDpi,
                              .most = kMaxDpi,
                              .step = 48,
                              .label = "DPI",
                              .help = "Pixels of a PNG per inch of paper; a screen has about 96, print wants 300.",
                              .flag = "--dpi",
                              .flag_help = "dots per inch of PNGs, {least} to {most} (default {usual})"},
                             192};
  Setting<chart::ColorMap> color_map{*this,
                                     {.key = "color_map",
                                      .options = color_map_options(),
                                      .label = "Colour map",
                                      .help = "Colours of weights, from small to large; scores are blue and red.",
                                      .flag = "--color-map",
                                      .flag_help = "colours of the figures: {names} (default {usual})",
                                      .flag_value = "NAME"}};
  Setting<bool> is_row_normalized{
      *this,
      {.key = "per_row",
       .options = {{"off", "to largest", "The strongest colour is the largest value of the map."},
                   {"on", "per row", "The strongest colour is each row's own largest weight."}},
       .label = "Range",
       .flag = "--row-normalised,--row-normalized",
       .flag_help = "colour each row by its own largest weight instead of one scale for the whole map",
       .flag_is_plain = true}};
};
inline const FigureLook kFigureLook;
inline const std::array<const SettingGroup*, 2> kFigureStyle = {&kFigureDetails, &kFigureLook};

/// Parts that figures can leave out; a part's flag is its name in the list of --hide.
struct FigurePartSettings : SettingGroup {
  FigurePartSettings() : SettingGroup{.name = "export.part"} {}

  Setting<bool> title{*this, {.key = "title", .label = "Title", .help = "The figure's title.", .flag = "title"}, true};
  Setting<bool> subtitle{*this,
                         {.key = "settings",
                          .label = "Settings below it",
                          .help = "Model, sizes and mask, in small letters.",
                          .flag = "settings"},
                         true};
  Setting<bool> labels{
      *this,
      {.key = "labels", .label = "Labels", .help = "Tokens along the map, and the names of its axes.", .flag = "labels"},
      true};
  Setting<bool> bar{
      *this, {.key = "bar", .label = "Colour bar", .help = "What the colours stand for.", .flag = "bar"}, true};
  Setting<bool> legend{
      *this, {.key = "legend", .label = "Legend", .help = "What the hatching means, and remarks.", .flag = "legend"}, true};
  Setting<bool> numbers{
      *this,
      {.key = "numbers", .label = "Numbers in cells", .help = "The values in the cells, where they fit.", .flag = "numbers"},
      true};
  Setting<bool> word_marks{
      *this,
      {.key = "word_marks", .label = "· before words", .help = "The dot of tokens that begin a word.", .flag = "marks"},
      true};
};
inline const FigurePartSettings kFigureParts;

exporting::FigureParts shown_parts(const Choices& choices);

}  // namespace headlight::app
