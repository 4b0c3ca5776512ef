#pragma once

#include "app/analyses/head_metrics.h"
#include "export/figure.h"

namespace headlight::app {

/// What the figure of all heads with their metrics is made from.
struct ModelSheet {
  struct Map {
    HeadRef head;
    exporting::FigureMap map;
  };
  std::vector<Map> maps = {};               ///< in their order
  const HeadMetricsFound* found = nullptr;  ///< null: captions are names alone
  HeadChoices choices = {};
  std::string title = {}, subtitle = {};
  std::string value_title = {};
  exporting::FigureStyle style = {};
  std::string session = {};
};

/// A small map for each head below "L3 H1  prev 0.98" or its entropy, in the order of ModelSheet::maps: by layers a line for
/// each layer, where its heads fit one. Throws Error without any head.
exporting::ContactSheet model_sheet(ModelSheet shown);

/// "; heads by previous token, highest first; at least 0.50 of induction": the order and the filter, as a figure says them;
/// empty where all heads are shown layer by layer.
std::string order_in_words(const HeadChoices& choices);

}  // namespace headlight::app
