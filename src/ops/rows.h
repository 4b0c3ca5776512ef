#pragma once

#include <cstdint>

namespace headlight::ops {

/// Which tokens of every batch item an op computes: those before an edit may be left as they are.
struct Rows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const { return first + count; }
};

}  // namespace headlight::ops
