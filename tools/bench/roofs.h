#pragma once

#include <optional>

#include "ops/kernels.h"

namespace headlight::bench {

/// What a device reaches in two loops that do nothing else: wall time as of operations, but the fastest of some rounds.
struct Roofs {
  double shader_gflops = 0.0;  ///< fused multiply-adds in registers, each two operations, by a shader
  double device_gbytes = 0.0;  ///< GB/s read and written by a copy of more than caches hold
  /// The same by functions of the program with the vectors that layers use; only where kernels are such functions.
  std::optional<double> program_gflops, program_gbytes;
};

/// Takes a second or two.
Roofs measure_roofs(ops::Kernels& kernels);

}  // namespace headlight::bench
