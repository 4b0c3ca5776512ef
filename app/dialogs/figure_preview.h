#pragma once

#include "app/exports/figure_kind.h"
#include "app/frame.h"

namespace headlight::app {

/// A figure's numbers from the window's engine, pooled for a small image. What was asked is asked again in every frame, so
/// that the answers stay, and a change of them is seen.
class PreviewNumbers final : public FigureNumbers {
 public:
  /// Asks again what the last figure asked. Returns whether all answers are the same.
  bool renew(Frame& frame);
  /// Begins a figure, in this frame.
  void begin(Frame& frame);

  std::shared_ptr<const attention::Tile> tile(const TileQuery& query) override;
  std::shared_ptr<const AnalysisResult> analysis(const AnalysisQuery& query) override;
  std::shared_ptr<const Prediction> prediction(const PredictionQuery& query) override;
  std::uint32_t edge(std::uint32_t most, std::size_t maps) const override;
  /// Cells along an edge of a square that is one value of the last figure; 1: none is pooled.
  std::uint32_t largest_pool() const;

 private:
  Frame* frame_ = nullptr;
  std::vector<std::pair<TileQuery, std::shared_ptr<const attention::Tile>>> tiles_;
  std::vector<std::pair<AnalysisQuery, std::shared_ptr<const AnalysisResult>>> analyses_;
  std::vector<std::pair<PredictionQuery, std::uint64_t>> predictions_;  ///< and the run that each is of; 0: none yet
};

/// The figure of a kind that an export would write of the selected head, layer or attention: title, labels, colours and
/// parts as the options say. It is laid out anew when they or its numbers change. A click shows it in its own size, and the
/// pointer moves it then.
class FigurePreview {
 public:
  /// In an area of the current window.
  void draw(Frame& frame, const ExportOptions& options, const FigureKind& kind, glm::vec2 room);
  /// What it leaves out of large maps: a sentence and a space after it; empty: nothing.
  std::string remark() const;

 private:
  void update(Frame& frame, const ExportOptions& options, const FigureKind& kind);
  void draw_page(Frame& frame, const ExportOptions& options, glm::vec2 corner, glm::vec2 room) const;

  std::string key_;  ///< of what is laid out
  PreviewNumbers numbers_;
  std::unique_ptr<exporting::Drawing> drawing_;
  std::string trouble_;
  bool is_enlarged_ = false;
};

}  // namespace headlight::app
