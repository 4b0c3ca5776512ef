#pragma once

#include "app/state/state.h"

namespace headlight::app {

/// The panel of settings that shows an error.
enum class ErrorSection : std::uint8_t { Text, Model, Masks };

/// Returns the part that differs between the inputs of the last valid run and the refused ones. With several changes the
/// model's is the likeliest to be wrong, then the text's. Without a valid run, `good` is the program's initial state.
ErrorSection error_section_for(const RunInputs& good, const RunInputs& refused);

}  // namespace headlight::app
