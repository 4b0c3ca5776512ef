#pragma once

#include "app/figures/job.h"
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

/// Which part of every map an export writes.
enum class ExportRegion : std::uint8_t { WholeMap, Visible, Dragged, Typed };

/// As the dialog keeps it.
struct RegionChoice {
  ExportRegion region = ExportRegion::WholeMap;
  std::string queries, keys;  ///< typed, as "0:1000"; empty: all
};

/// Rows and columns of every map; none: all.
struct MapPart {
  std::optional<IndexRange> queries, keys;
};

/// The part that a choice means of maps with these shapes, or what to do so that there is one.
Result<MapPart> chosen_part(const RegionChoice& choice, const Transient& transient, const BlockShapes& written);

/// The choice; below fields to type a part into, or what the part is, or why there is none.
void draw_region_form(Frame& frame, Form& form, RegionChoice& choice, const Result<MapPart>& part);

}  // namespace headlight::app
