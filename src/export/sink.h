#pragma once

#include <functional>
#include <string_view>

#include "core/atomic_file.h"

namespace headlight::exporting {

/// Takes the next bytes of a file that is made piece by piece.
using Sink = std::function<void(std::string_view)>;

/// append() of a file too large to be held whole; the file must outlive it.
inline Sink sink_of(AtomicFile& file) {
  return [&file](std::string_view bytes) { file.append(bytes); };
}

}  // namespace headlight::exporting
