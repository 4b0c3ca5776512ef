#pragma once

#include <string>

#include "app/frame.h"

namespace headlight::app {

/// What a view shows, in large type at its top: at the same place in every view, and cut where it is wider than `room`, in
/// UI units; 0: as wide as what is left of the line. Marked as "view.title".
void draw_view_title(Frame& frame, const std::string& title, float room = 0.0F);

/// Dim small text after the title, in its line and on its baseline.
void draw_title_note(Frame& frame, const std::string& note);

}  // namespace headlight::app
