#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Returns a cell of the selected head's map in words and numbers, one line each, for the clipboard: its tokens, weight and
/// scaled score. nullopt until the numbers are known; requests them.
std::optional<std::string> cell_text(Frame& frame, attention::Cell cell);

/// Returns a number with the given decimals, fewer where its digits before the point already fill a cell: "0.17", "−12.3",
/// "512", "−∞".
std::string cell_number(float value, std::uint32_t decimals);

/// Returns black or white, whichever is easier to read on the colour.
shell::Color readable_on(shell::Color ground);

/// Returns the colour of a value in the image's range and map.
shell::Color color_of(const shell::HeatmapImage& image, float value);

/// Writes the tile's numbers into the cells of its image, those that are inside the clip rectangles. Masked cells show
/// the mask's result: the fill in Stage::Masked, and in Stage::Weights the weight under a finite fill.
void draw_cell_numbers(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile);

/// Marks an exact tile of weights: writes "no weights" in every row that is masked as a whole with −inf, and marks the cells
/// that dropout has dropped.
void draw_weight_marks(Frame& frame, const shell::HeatmapImage& image, const attention::Tile& tile);

/// The width of the smallest cell in which draw_cell_numbers() writes two decimals of a weight; smaller ones stay empty,
/// because one decimal adds little to the colour.
inline constexpr float kMinNumberCellWidth = 34.0F;
/// The width of the smallest cell with room for any number below 100, with its sign.
inline constexpr float kNumberCellWidth = 40.0F;
inline constexpr float kNumberCellHeight = 18.0F;

/// Returns the colour at a share of them, 0 … 1.
shell::Color color_in(std::span<const std::uint32_t> colors, double share);

/// A cell of a small map with its number or text, where that fits; the colour of a missing tile without one of its own. A
/// selected or pointed-at cell has a frame.
struct MapCell {
  chart::Rect box;
  std::optional<shell::Color> ground = {};
  std::optional<double> number = {};
  std::string text = {};   ///< after a line end what has room below it or beside it alone
  bool is_hidden = false;  ///< by the mask: hatched
  bool is_selected = false, is_hovered = false;
};
void draw_map_cell(const Frame& frame, const MapCell& cell);

}  // namespace headlight::app
