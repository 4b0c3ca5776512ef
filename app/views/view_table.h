#pragma once

#include "app/views/view.h"

namespace headlight::app {

/// Returns every view, group by group, in the order of the tabs.
std::span<const View> views();

/// Returns the view with this id, and the first one where there is none: a file may name a view that this version lacks.
const View& find_view(std::string_view id);

/// Returns why the view has nothing to draw of the run on screen; empty: it draws it, or there is no run yet.
std::string why_empty(const View& view, const Frame& frame);

}  // namespace headlight::app
