#pragma once

#include "app/exports/job.h"
#include "app/widgets/form.h"

namespace headlight::app {

/// How exported figures look, as the Export dialog asks for it.
struct FigureChoices {
  std::string title;           ///< empty: each figure says what it shows
  std::uint32_t size_mm = 0;   ///< 0: as the cells need
  std::uint32_t dpi = 192;     ///< of PNGs
  std::string color_map = {};  ///< as files name it
  bool is_row_normalized = false;
  bool is_transparent = false, is_dark = false;
  exporting::FigureFont font = exporting::FigureFont::Sans;
  exporting::FigureParts parts = {};
};

/// What the window shows now.
FigureChoices figure_choices(const ViewChoices& view);

void draw_figure_form(Frame& frame, NumberBeingTyped& typed, FigureChoices& choices);

/// Ground, letters and which parts are drawn.
void draw_figure_details(Frame& frame, NumberBeingTyped& typed, FigureChoices& choices);

/// Puts the choices into the options.
void apply(const FigureChoices& choices, ExportOptions& options);

}  // namespace headlight::app
