#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/bench/bench.h"

namespace headlight::bench {

/// Measures the loops that bound the device, and draws the results against them; those without a count of flops are left
/// out. Returns lines with the loops' rates and the file. Throws Error where no result has flops.
std::string write_roofline(const std::filesystem::path& file, ops::Kernels& kernels, const std::vector<Result>& results);

}  // namespace headlight::bench
