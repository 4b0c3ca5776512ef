#pragma once

#include <limits>

#include <cstddef>
#include <memory>

#include "app/shell/theme.h"
#include "chart/value_scale.h"
#include "chart/viewport.h"

struct ImDrawList;

namespace headlight::shell {

class RenderDevice;

/// One matrix to draw as coloured cells, and how. Spans are read during HeatmapRenderer::draw() only.
struct HeatmapImage {
  /// Stable name of this heatmap: it stays from frame to frame and differs from every other heatmap's of the frame.
  std::uint64_t key = 0;
  /// Changes whenever `values`, `masked`, `row_scale` or `pixels` have other content; their cells are coloured and uploaded
  /// again only then (or when the shape, the range or a colour changes, or masked/row_scale appear or disappear).
  std::uint64_t revision = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::span<const float> values;         ///< [rows, columns]; NaN and ±inf are drawn in chart::kNotFinite
  std::span<const std::uint8_t> masked;  ///< [rows, columns] or empty; 1: hatched
  std::span<const float> row_scale;      ///< [rows] or empty; multiplies each row's values (1 / row maximum normalises rows)
  /// [rows, columns] of an image, packed as Color and opaque: drawn as they are, the mean of those that share a pixel. Then
  /// there are no values, masked cells, range or colour map. Empty: the cells are numbers.
  std::span<const std::uint32_t> pixels = {};

  float low = 0.0F;   ///< drawn in the table's first colour
  float high = 1.0F;  ///< drawn in its last one
  /// Colours over values or over their logarithms; then a low end that isn't above 0 is chart::log_floor().
  chart::ScaleSpread spread = chart::ScaleSpread::Linear;
  std::span<const std::uint32_t> color_map;  ///< 256 entries, packed as Color

  chart::Rect area;                 ///< of all cells, UI units; may reach beyond the clip when zoomed in
  std::optional<chart::Rect> clip;  ///< inside ImGui's own clip rectangle of the draw list, which always applies

  Color hatch = 0;         ///< stripes of masked cells; their width is in UI units, at any zoom
  Color hatch_ground = 0;  ///< between the stripes; alpha 0 lets the value's colour show through
  Color missing = 0;
  Color grid = 0;  ///< lines between cells of at least `grid_from` UI units; alpha 0: none
  float grid_from = 14.0F;
  Color crosshair = 0;
  std::optional<std::uint32_t> crosshair_row;  ///< outlined along its whole width, outside its cells
  std::optional<std::uint32_t> crosshair_column;
  float rounding = 0.0F;  ///< radius of the area's corners, UI units
};

/// Takes hatch, missing, grid and crosshair colours from the theme.
void use_theme(HeatmapImage& image, const Theme& theme);

/// Draws heatmaps inside ImGui windows. The colours of all cells are in one device buffer, cached by key and found again
/// only when something changes that they depend on; hundreds of thumbnails a frame are one small draw each.
class HeatmapRenderer {
 public:
  struct Budget {
    std::size_t bytes = std::size_t{96} << 20;  ///< of device memory; capped by the device's storage range
    std::uint32_t unused_frames = 240;          ///< a heatmap that wasn't drawn for this many frames is dropped
  };

  /// Returns the cell under a point of the area, or nullopt outside it.
  static std::optional<chart::CellPosition> cell_at(const HeatmapImage& image, glm::vec2 point);

  /// Returns the rectangle of a cell.
  static chart::Rect cell_rect(const HeatmapImage& image, std::uint32_t row, std::uint32_t column);

  /// Draws a heatmap; called between Ui::begin_frame() and end_frame(). Throws Error when a span's size doesn't fit rows ×
  /// columns or the colour map isn't 256 long, or when the device fails. A heatmap that is larger than the whole budget is
  /// drawn in the missing colour.
  void draw(ImDrawList* list, const HeatmapImage& image);

  std::size_t cached_heatmaps() const;
  std::size_t cached_bytes() const;
  /// Returns the number of uploads since construction: constant while nothing changes.
  std::uint64_t uploads() const;

  ~HeatmapRenderer();
  HeatmapRenderer(const HeatmapRenderer&) = delete;
  HeatmapRenderer& operator=(const HeatmapRenderer&) = delete;

  /// The Vulkan side, which Ui uses.
  struct Pipeline;
  explicit HeatmapRenderer(std::unique_ptr<Pipeline> pipeline);
  /// Replaces the pipeline: by a new, empty one after the device was lost; nullptr: frees the old one.
  void replace(std::unique_ptr<Pipeline> pipeline);
  Pipeline& pipeline() { return *pipeline_; }

 private:
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace headlight::shell
