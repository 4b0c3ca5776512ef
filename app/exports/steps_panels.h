#pragma once

#include "app/quantities/quantity.h"
#include "export/panels_figure.h"

namespace headlight::app {

/// A matrix of a head's calculation, or what two runs differ in there.
struct StepPanel {
  attention::Stage stage = attention::Stage::X;       ///< of a weight the one that it makes
  QuantityId of = attention::Stage::X;                ///< the stage, or its difference
  std::uint32_t matrix_rows = 0, matrix_columns = 0;  ///< of the whole matrix
  std::string weight = {};                            ///< what a weight is called: "W_Q"; empty: it is a stage
  std::string part = {};                              ///< what of it is drawn: "rows 3 to 9"; empty: all of it
  exporting::FigureMap map = {};
  exporting::FigureAxis rows = {}, columns = {};
  exporting::FigureStyle style = {};  ///< colours and scale; size and titles are the page's
};

/// The calculation line by line: what comes from the tokens, the maps, what becomes of the values. `page`: title, settings,
/// style and session. Stages of the panels are in their order, each once at most, and a weight
/// before what it makes.
exporting::PanelsFigure steps_figure(std::vector<StepPanel> panels, exporting::PanelsFigure page);

}  // namespace headlight::app
