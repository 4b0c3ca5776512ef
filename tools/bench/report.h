#pragma once

#include <string>

#include "gpu/device_info.h"
#include "ops/tuning.h"
#include "tools/bench/bench.h"

namespace headlight::bench {

/// Device, driver, tuning and the machine's load, on which every number depends, as lines of text.
std::string heading(const gpu::DeviceInfo& device, const ops::Tuning& tuning);

/// The table's first line and one for each case, in columns.
std::string table_header();
std::string table_row(const Result& result);
std::string table_row(const Skipped& skipped);

/// One JSON object in one line: op, n, d_model, heads, causal, wall_ms, gpu_ms, gflops, device, driver, variant, dispatches,
/// device_bytes, state_bytes; null where there is no such number.
std::string json_row(const Result& result, const gpu::DeviceInfo& device);

/// 10⁹ flops in a second of wall time; nothing for operations whose flops aren't counted.
std::optional<double> gflops(const Result& result);

}  // namespace headlight::bench
