#pragma once

namespace headlight {

/// Gives pages that malloc keeps but nothing uses back to the system; does nothing where the C library can't. Freed blocks
/// between those in use stay with the process otherwise, so that it only ever grows while texts and models change. Any
/// thread; takes some ms for 100 MiB, during which other threads' allocations may wait, so it is for when nothing is drawn.
void return_free_memory();

}  // namespace headlight
