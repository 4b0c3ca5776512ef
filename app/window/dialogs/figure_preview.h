#pragma once

#include "app/figures/figure_kind.h"
#include "app/frame.h"

namespace headlight::app {

/// The figure that a dialog shows and saves: of a kind, or the view's own as it is on screen.
struct WantedFigure {
  const FigureKind* kind = nullptr;  ///< null: `drawing` is laid out on the options' page
  std::shared_ptr<const exporting::Drawing> drawing = {};
  std::string view = {};  ///< its id
  exporting::DrawingFormat format = exporting::DrawingFormat::Pdf;
  ExportOptions options = {};
};

/// A figure that the engine's thread has laid out, and as it is painted where it is shown.
struct PreviewedFigure {
  std::shared_ptr<const exporting::Drawing> drawing = {};
  exporting::Pixels image = {};
  float scale = 1.0F;  ///< UI units a unit of the figure
};

/// Shows a figure at its true proportions: the one that is saved, painted by what writes PNGs. It is laid out and painted
/// anew by the engine's thread when something changes. A click shows it in its own size, and the pointer moves it then.
class FigurePreview {
 public:
  /// In an area of the current window. `trouble`: why there is no figure; empty: there is.
  void draw(Frame& frame, Engine& engine, const WantedFigure& wanted, glm::vec2 room, const std::string& trouble);
  bool is_busy() const { return asked_ && !asked_.is_done(); }
  /// The figure that is wanted; null: it is being drawn, or can't be.
  const PreviewedFigure* figure() const { return trouble_.empty() && !is_busy() ? shown_.get() : nullptr; }
  /// Why it can't be drawn; may be empty.
  const std::string& trouble() const { return trouble_; }

 private:
  void update(Frame& frame, Engine& engine, const WantedFigure& wanted, glm::vec2 room);

  std::string key_;                                          ///< of what is laid out
  std::pair<std::uint64_t, std::optional<RunInputs>> runs_;  ///< the newest run, and what it is compared with
  /// The numbers of those runs: the engine's thread reads and keeps them, so that another look needs none.
  std::shared_ptr<FigureNumbers> numbers_;
  Asked<PreviewedFigure> asked_;
  std::shared_ptr<const PreviewedFigure> shown_;  ///< the last one that was there
  std::uint64_t revision_ = 0;                    ///< of its image
  std::string trouble_;
  bool is_enlarged_ = false;
};

/// "84 × 92 mm · 635 × 695 pixels": the figure's size on paper, and as a PNG.
std::string size_in_words(const exporting::Drawing& drawing);

}  // namespace headlight::app
