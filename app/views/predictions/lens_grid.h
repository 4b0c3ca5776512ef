#pragma once

#include "app/engine/analyses/lens_cells.h"
#include "app/frame.h"
#include "app/widgets/cell_grid.h"

namespace headlight::app {

/// The lens grid: a row for each layer, the last at the top, a column for each position, in each cell the likeliest token
/// that the layer's state is read as. Asks for the cells in view; of those that were there nothing is kept.
class LensGrid {
 public:
  /// Fills what is left of the current region.
  void draw(Frame& frame, const PredictionPosition& position);
  /// What was in view; null: nothing yet.
  std::unique_ptr<exporting::Drawing> figure() const;
  /// Was the last cell opened by a double click?
  bool is_opened() const { return is_opened_; }

 private:
  void draw_controls(Frame& frame, const PredictionPosition& position);
  void draw_legend(Frame& frame) const;
  /// Forgets the cells of another text or network.
  void show(const Frame& frame, const PredictionPosition& position);
  /// Null: it isn't known.
  const LensCell* known(const Frame& frame, GridCell at);
  void fill(Frame& frame, GridCell at, bool asks);
  void choose_cell(Frame& frame, const GridEvents& events);
  std::string place(const Frame& frame, GridCell at) const;
  void copy_csv(Frame& frame, const PredictionPosition& position);

  std::uint32_t layers_ = 0;  ///< of the stack: one row more
  std::uint32_t vocabulary_ = 1;
  LensQuestion question_;  ///< of the frame's choices
  std::string trouble_;    ///< why cells can't be computed
  bool is_opened_ = false;
  Grid grid_{.is_signed = false};                   ///< of all cells that were in view
  std::shared_ptr<const model::ModelInput> input_;  ///< of which it is, as the position
  PredictionPosition of_;
  GridPart shown_;                 ///< in the last frame, as what follows
  exporting::HeatmapFigure page_;  ///< its titles and colours
};

}  // namespace headlight::app
