#pragma once

#include "app/state/state.h"

namespace headlight::test {

/// Every member differs from a new state's, so that a forgotten one shows. A model is shown, and a baseline is
/// kept.
app::State unusual_state();
/// Return such a state with a notebook or a capture.
app::State unusual_notebook();
app::State unusual_capture();

}  // namespace headlight::test
