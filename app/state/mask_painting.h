#pragma once

#include "app/state/state.h"
#include "attention/mask.h"

namespace headlight::app {

/// The properties of the selected map and of the model around it that painting needs.
struct PaintedMap {
  attention::KeyRange keys = 0;         ///< of the selected batch item, without padding
  std::uint32_t rows = 0, columns = 0;  ///< of the map
  std::uint32_t layers = 1;             ///< that have this kind of attention
  bool has_trained_window = false;      ///< some layers have a sliding window, which only paint can override
  /// Tokens of the selected item that follow one of the model's separators, such as </s>: where documents begin.
  std::vector<std::uint32_t> behind_separators = {};
};

/// Cells that are painted at once at most.
inline constexpr std::size_t kMaxPaintedAtOnce = std::size_t{1} << 20;

/// Returns the cells that a brush of this shape changes at `at`, in row-major order; `from` is a rectangle's other corner.
/// Throws Error where they are more than kMaxPaintedAtOnce.
std::vector<attention::Cell> brush_cells(BrushShape shape, attention::Cell from, attention::Cell at, const PaintedMap& map);

/// Shows (true) or masks cells in the user's paint scope, around the selected map. A cell whose state the rules already
/// give isn't painted, so painting it back leaves no paint.
void paint(State& state, std::span<const attention::Cell> cells, bool is_visible, const PaintedMap& map);
void paint(State& state, attention::Cell cell, bool is_visible, const PaintedMap& map);

/// Gives cells a bias of their scores in the user's paint scope; none, or 0, takes away what these cells have.
void paint_bias(State& state, const std::vector<attention::Cell>& cells, std::optional<float> bias, const PaintedMap& map);

/// Gives cells a weight in the pattern that takes the selected head's place, which is a painted one from then on; none takes
/// their weight away. A pattern without any weight is the head's own again.
void paint_pattern(State& state, const std::vector<attention::Cell>& cells, std::optional<float> weight);

/// Puts what the user's brush puts onto cells, or takes it away: for a mask, shows them again.
void put_ink(State& state, const std::vector<attention::Cell>& cells, bool puts, const PaintedMap& map);

/// Does the cell of the selected map have what the user's brush (a bias or a weight) would put there?
bool has_ink(const State& state, attention::Cell cell);

/// Takes away masks and biases that were painted in these cells, in every scope that includes the selected map or is part of
/// the paint scope.
void erase_paint(State& state, const std::vector<attention::Cell>& cells, const PaintedMap& map);

}  // namespace headlight::app
