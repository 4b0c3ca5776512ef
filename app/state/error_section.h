#pragma once

#include <cstdint>

#include "app/state/state.h"

namespace headlight::app {

/// Which section of the sidebar a refusal belongs beside.
enum class ErrorSection : std::uint8_t { Text, Model, Masks };

/// What changed between the inputs of the last good run and those that were refused. With several changes the model's is the
/// likeliest to be wrong, then the text's. Without a good run, `good` is what the program starts with.
ErrorSection error_section_for(const RunInputs& good, const RunInputs& refused);

}  // namespace headlight::app
