#pragma once

#include "app/engine/analyses/residual_sizes.h"
#include "app/widgets/cell_grid.h"

namespace headlight::app {

/// The largest number of the residual stream for each token, before the first layer and after each, with its dimension:
/// which activations are massive.
class ActivationMap {
 public:
  /// Fills what is left of the region, with a button that goes back to the layer.
  void draw(Frame& frame);
  /// Returns the figure; null: nothing was drawn last.
  std::unique_ptr<exporting::Drawing> figure() const;

 private:
  void draw_tools(Frame& frame, const LargestActivations* found) const;

  Grid matrix_;  ///< drawn last
  std::string subtitle_;
  chart::ColorMap color_map_ = chart::ColorMap::Viridis;
};

/// Dimensions by how many states have their largest number there, the one with most first, of equal ones by number.
std::vector<std::pair<std::uint32_t, std::size_t>> largest_dimensions(const LargestActivations& found);

}  // namespace headlight::app
