#pragma once

#include <string_view>

namespace headlight::app {

/// Returns the effect of the control of this name, in one plain sentence; empty for names that aren't in the table.
std::string_view tooltip_of(std::string_view name);

}  // namespace headlight::app
