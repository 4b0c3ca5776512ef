#pragma once

#include <span>

#include "app/analyses/analysis.h"

namespace headlight::app {

/// All of them.
std::span<const Analysis* const> analyses();

}  // namespace headlight::app
