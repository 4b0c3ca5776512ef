#pragma once

#include <cstdint>

namespace headlight::exporting {

/// The letters of a figure. Serif: those of LaTeX, Latin Modern, where they are installed.
enum class FigureFont : std::uint8_t { Sans, Serif };

/// What of a figure is drawn beside the cells.
struct FigureParts {
  bool title = true, settings = true, labels = true, bar = true, legend = true;
  bool numbers = true;     ///< in the cells, where they fit
  bool word_marks = true;  ///< the "\u00B7" of tokens that begin a word

  bool operator==(const FigureParts&) const = default;
};

}  // namespace headlight::exporting
