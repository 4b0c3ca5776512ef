#pragma once

#include "app/frame.h"

namespace headlight::app {

/// Numbers as bars.
struct SignedBars {
  std::string name;                               ///< rows are marked "<name>.0", "<name>.1", …
  std::span<const double> values;                 ///< [row]
  std::function<std::string(std::size_t)> label;  ///< of a row that is visible
  std::function<std::string(std::size_t)> about;  ///< a row's tooltip
  std::optional<std::size_t> chosen = {};         ///< drawn as selected
  std::function<void(std::size_t)> open = {};     ///< of a row that is clicked twice; may be empty
  std::function<void(std::size_t)> point = {};    ///< of the row under the pointer; may be empty
  bool has_signs = true;                          ///< else all are attention from 0 on, in its colour and without a sign
  double least_end = 0.0;                         ///< bars are as long as the region for at least this number
};

/// One row under the other from a common zero line, as wide as the region; the region scrolls, and only visible rows are
/// drawn. Returns the row that was clicked.
std::optional<std::size_t> draw_signed_bars(Frame& frame, const SignedBars& bars);

/// "+1.234" or "−0.012": with its sign.
std::string signed_text(double value);

}  // namespace headlight::app
