#pragma once

#include <span>
#include <string_view>

#include "app/views/view.h"

namespace headlight::app {

/// Every view, in the order of the tabs.
std::span<const View> views();

/// The view with this id, and the first one where there is none: a file may name a view that this version lacks.
const View& find_view(std::string_view id);

}  // namespace headlight::app
