#pragma once

#include "app/frame.h"
#include "app/widgets/cells/provenance.h"

namespace headlight::app {

/// The dialog's state from frame to frame: the text is made once for a number and a run, since files are read for it.
struct OriginMemory {
  std::optional<NumberRef> number;
  std::uint64_t run = 0;
  Provenance provenance;
};

/// Draws the dialog "Where this number comes from" while Transient::asked_number is set: the number's value and its
/// provenance, with a button that copies both.
void draw_origin_dialog(Frame& frame, OriginMemory& memory);

/// Returns the reference to a cell of one of the selected head's matrices, or of its layer's. `of`: id of a quantity or a
/// name of provenance.h.
NumberRef number_of(const Frame& frame, std::string_view of, attention::Cell cell, std::optional<float> value = {});

/// Returns the reference to the cell under the pointer, else the pinned one, of the selected head's matrix on screen;
/// nullopt: there is none.
std::optional<NumberRef> number_at_cell(const Frame& frame);

}  // namespace headlight::app
