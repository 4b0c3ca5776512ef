#pragma once

#include "app/figures/shaded_image.h"
#include "app/state/state.h"
#include "export/figures.h"

namespace headlight::app {

/// A text shaded by what one of its tokens attends to, or by what attends to it.
struct ShadedText {
  std::string title;
  std::string subtitle = {};                                      ///< in front of what is shown: settings; may be empty
  std::vector<RunningToken> queries;                              ///< [token]
  std::string queries_title = "queries: what the decoder reads";  ///< of attention between two texts
  std::vector<RunningToken> keys;  ///< of attention between two texts; empty: the queries are the keys
  capture::PatchImages query_images = {}, key_images = {};  ///< whose patches are among the tokens of a side
  LockedToken chosen = {};
  std::vector<float> weights;  ///< [token of the other side]; NaN and negative ones count as 0
  bool is_difference = false;  ///< of two runs: red where there is more, blue where there is less, NaN as 0
  exporting::FigureStyle style = {};
  std::string session = {};
};

/// A number above a token; of a difference with its sign.
std::string shade_text(float weight, bool is_difference);

/// Lays the text out for a figure's width and letters.
exporting::TextFigure text_figure(const ShadedText& shown);

}  // namespace headlight::app
