#pragma once

#include <string_view>

namespace headlight::app {

/// What the control of this name does, in one plain sentence; empty for names that the table doesn't know.
std::string_view tooltip_of(std::string_view name);

}  // namespace headlight::app
