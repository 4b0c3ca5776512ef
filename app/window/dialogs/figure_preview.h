#pragma once

#include "app/figures/figure_kind.h"
#include "app/frame.h"

namespace headlight::app {

/// A figure that is laid out for a small image.
struct PreviewedFigure {
  std::shared_ptr<const exporting::Drawing> drawing = {};
  std::uint32_t largest_pool = 1;  ///< cells along an edge of a square that is one value of it
};

/// The figure of a kind that an export would write of the selected head, layer or attention: title, labels, colours and
/// parts as the options say. It is laid out anew when they or the run change. A click shows it in its own size, and the
/// pointer moves it then.
class FigurePreview {
 public:
  /// In an area of the current window.
  void draw(Frame& frame, Engine& engine, const ExportOptions& options, const FigureKind& kind, glm::vec2 room);
  bool is_busy() const { return asked_ && !asked_.is_done(); }
  /// Returns a sentence on the cells that it leaves out of large maps, and a space after it; empty: nothing.
  std::string remark() const;

 private:
  void update(Frame& frame, Engine& engine, const ExportOptions& options, const FigureKind& kind);
  void draw_page(Frame& frame, const ExportOptions& options, glm::vec2 corner, glm::vec2 room) const;

  std::string key_;                                          ///< of what is laid out
  std::pair<std::uint64_t, std::optional<RunInputs>> runs_;  ///< the newest run, and what it is compared with
  /// The numbers of those runs: the engine's thread reads and keeps them, so that another look needs none.
  std::shared_ptr<FigureNumbers> numbers_;
  Asked<PreviewedFigure> asked_;
  std::shared_ptr<const PreviewedFigure> shown_;  ///< the last one that was there
  std::string trouble_;
  bool is_enlarged_ = false;
};

}  // namespace headlight::app
