#pragma once

#include "app/figures/job.h"
#include "app/widgets/form.h"

namespace headlight::app {

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
