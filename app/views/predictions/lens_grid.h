#pragma once

#include "app/engine/analyses/lens_cells.h"
#include "app/engine/predictions.h"
#include "app/frame.h"
#include "export/figure.h"

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
  struct Visible {
    std::uint32_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
  };
  void draw_controls(Frame& frame, const PredictionPosition& position);
  void draw_legend(Frame& frame) const;
  void draw_cells(Frame& frame, const PredictionPosition& position, float height);
  void draw_names(Frame& frame, const PredictionPosition& position, glm::vec2 corner, glm::vec2 room) const;
  void draw_cell(Frame& frame, const PredictionPosition& position, std::uint32_t layer, std::uint32_t token,
                 const LensCell* cell, const chart::Rect& box);
  void keep_cell(const Frame& frame, std::uint32_t layer, std::uint32_t token, const LensCell* cell);
  void copy_csv(Frame& frame, const PredictionPosition& position);

  std::uint32_t layers_ = 0;  ///< of the stack: one row more
  std::uint32_t vocabulary_ = 1;
  LensQuestion question_;  ///< of the frame's choices
  std::string trouble_;    ///< why cells can't be computed
  Visible visible_;
  glm::vec2 origin_{0.0F}, cell_size_{0.0F};  ///< of all cells, on screen
  std::optional<std::uint32_t> shown_token_;  ///< that was scrolled to
  std::string detail_;                        ///< of the cell under the pointer, else of the chosen one
  bool is_hovered_ = false, is_opened_ = false;
  exporting::HeatmapFigure kept_;
};

}  // namespace headlight::app
