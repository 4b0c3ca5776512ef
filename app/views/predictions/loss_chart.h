#pragma once

#include "app/engine/analyses/token_losses.h"
#include "app/frame.h"
#include "export/figures.h"

namespace headlight::app {

/// How well each token of the text is predicted: bars of −ln p along it, with the running mean, and the in-context score.
class LossChart {
 public:
  /// Returns the position that predicts the token which was clicked.
  std::optional<std::uint32_t> draw(Frame& frame, const PredictionPosition& position);
  /// Losses and running mean by position; null: none were drawn last.
  std::unique_ptr<exporting::Drawing> figure() const;

 private:
  std::optional<std::uint32_t> draw_bars(Frame& frame, const PredictionPosition& position, const TokenLosses& found,
                                         std::span<const double> means) const;
  void keep(const Frame& frame, const PredictionPosition& position, const TokenLosses& found, std::span<const double> means,
            const std::string& subtitle);

  exporting::DotsFigure kept_;  ///< of the last frame
};

}  // namespace headlight::app
