#pragma once

#include <cstdint>

namespace headlight::ops {

/// The tokens of every batch item that an op computes: those before an edit may keep their values.
struct Rows {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const { return first + count; }
};

}  // namespace headlight::ops
