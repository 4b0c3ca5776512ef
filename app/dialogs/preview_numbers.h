#pragma once

#include "app/exports/figure_numbers.h"
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

}  // namespace headlight::app
