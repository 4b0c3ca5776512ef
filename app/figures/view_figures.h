#pragma once

#include "app/engine/analyses/head_metrics.h"
#include "app/engine/predictions.h"
#include "app/shapes/quantities/quantity.h"
#include "export/figures.h"
#include "inference/sampling.h"

namespace headlight::app {

/// The maps of a figure of all heads, in their order.
using HeadMaps = std::vector<std::pair<HeadRef, exporting::FigureMap>>;

/// Puts them on a page, which has title, settings, style and session: a small map for each head below "L3 H1  prev 0.98" or
/// its entropy; by layers a line for each layer, where its heads fit one. `found`: null: captions are names alone. Throws
/// Error without any head.
exporting::ContactSheet model_sheet(exporting::ContactSheet page, HeadMaps maps, const HeadMetricsFound* found,
                                    const HeadChoices& choices);

/// "; heads by previous token, highest first; at least 0.50 of induction": the order and the filter, as a figure says them;
/// empty where all heads are shown layer by layer.
std::string order_in_words(const HeadChoices& choices);

/// "20 queries": and how many of them are measured, where it isn't all.
std::string metrics_subtitle(const HeadMetricsFound& found);

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

/// The most bars of a figure of predictions, and what it shows of each layer.
inline constexpr std::size_t kMaxFigureBars = 15, kFigureReadings = 3;

/// The bars of the likeliest tokens under sampling settings, in place of those that the figure has.
void set_bars(exporting::PredictionsFigure& figure, std::span<const inference::Candidate> candidates,
              const inference::Distribution& distribution, const inference::LanguageModel* model);

/// What a state after so many of `layers` would predict, below what the figure has.
void add_layer(exporting::PredictionsFigure& figure, std::uint32_t passed, std::uint32_t layers,
               std::span<const inference::Candidate> candidates, const inference::LanguageModel* model);

/// "output", "layer 11", "input": a state after so many of `layers`.
std::string layer_label(std::uint32_t passed, std::uint32_t layers);

/// "Next token after “mat”, token 5 of 6".
std::string position_in_words(const model::ModelInput& input, const PredictionPosition& position);

/// "of 50257 tokens · entropy 2.31 nats · 40 can be drawn".
std::string distribution_in_words(const inference::Distribution& distribution, const inference::SamplingSettings& sampling);

}  // namespace headlight::app
