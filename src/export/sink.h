#pragma once

#include <functional>

#include "core/atomic_file.h"

namespace headlight::exporting {

/// Receives the next bytes of a file that is written in parts.
using Sink = std::function<void(std::string_view)>;

/// append() of a file too large for the memory; the file must outlive it.
inline Sink sink_of(AtomicFile& file) {
  return [&file](std::string_view bytes) { file.append(bytes); };
}

}  // namespace headlight::exporting
