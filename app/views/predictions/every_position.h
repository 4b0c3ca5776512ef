#pragma once

#include "app/engine/predictions.h"
#include "app/widgets/table_view.h"

namespace headlight::app {

/// What is predicted at every position of the text: a row each with its token, the likeliest tokens there, and the chance of
/// the token that follows. Rows are asked for, and written, when they come into view.
class EveryPosition {
 public:
  /// Returns the position that was clicked.
  std::optional<std::uint32_t> draw(Frame& frame, const PredictionPosition& position);

 private:
  void show(const Frame& frame, const PredictionPosition& position);
  void fill(Frame& frame, std::size_t row);

  TableView view_{"prediction.position"};
  std::shared_ptr<const model::ModelInput> input_;  ///< of the rows, as what follows
  PredictionPosition of_;
};

/// The prediction at one position as every layer would make it ("logit lens", nostalgebraist 2020): a row for each layer,
/// the last one at the top, with its likeliest tokens coloured by their probability. Fills what is left of the current
/// region.
void draw_logit_lens(Frame& frame, const PredictionPosition& position);

}  // namespace headlight::app
