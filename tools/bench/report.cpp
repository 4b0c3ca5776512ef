#include "tools/bench/report.h"

#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"

namespace headlight::bench {
namespace {

/// The system's one-minute load average, or nullopt where it isn't available.
std::optional<double> load_average() {
  double load = 0.0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

std::string milliseconds(double ms) { return fmt::format("{:.{}f}", ms, ms < 10.0 ? 3 : ms < 1000.0 ? 2 : 0); }

constexpr const char* kColumns = "{:<20} {:>5} {:>7} {:>5} {:>10} {:>10} {:>8} {:>10}  {}\n";

std::string note(const Result& result) {
  std::string text = result.variant;
  if (result.device_bytes) {
    const double per_number = static_cast<double>(*result.state_bytes) / (double{1} * result.size.n * result.size.d_model);
    text += fmt::format("; {:.1f} MiB, without weights {:.1f} bytes a token and d_model",
                        static_cast<double>(*result.device_bytes) / (1 << 20), per_number);
  }
  return text;
}

}  // namespace

std::optional<double> gflops(const Result& result) {
  const double counted = flops(result.operation, result.size);
  if (counted <= 0.0 || result.timing.wall_ms <= 0.0) return std::nullopt;
  return counted / result.timing.wall_ms * 1e-6;
}

std::string heading(const gpu::DeviceInfo& device, const ops::Tuning& tuning) {
  const std::optional<double> load = load_average();
  return fmt::format(
      "{}, {}, Vulkan {}\nkernels: few rows {}, many rows {}, attention {}, texel reads {}\nprocessors {}, load average "
      "{}\n\n",
      device.name, device.driver, device.api, to_string(tuning.few_rows), to_string(tuning.many_rows),
      to_string(tuning.attention), tuning.texel_reads ? "on" : "off", std::thread::hardware_concurrency(),
      load ? fmt::format("{:.2f}", *load) : "unknown");
}

std::string table_header() {
  return fmt::format(kColumns, "operation", "n", "d_model", "heads", "wall ms", "GPU ms", "GFLOP/s", "dispatches", "kernel");
}

std::string table_row(const Result& result) {
  const std::optional<double> rate = gflops(result);
  const Timing& timing = result.timing;
  return fmt::format(kColumns, to_string(result.operation), result.size.n, result.size.d_model, result.size.heads,
                     milliseconds(timing.wall_ms), timing.gpu_ms > 0.0 ? milliseconds(timing.gpu_ms) : "-",
                     rate ? fmt::format("{:.1f}", *rate) : "-", timing.dispatches, note(result));
}

std::string table_row(const Skipped& skipped) {
  return fmt::format(kColumns, to_string(skipped.operation), skipped.size.n, skipped.size.d_model, skipped.size.heads, "-",
                     "-", "-", "-",
                     fmt::format("skipped: would take about {:.0f} s (--full)", skipped.expected_ms / 1000.0));
}

std::string json_row(const Result& result, const gpu::DeviceInfo& device) {
  using nlohmann::ordered_json;
  const std::optional<double> rate = gflops(result);
  const auto number = [](const auto& value) { return value ? ordered_json(*value) : ordered_json(nullptr); };
  ordered_json row = {
      {"op", to_string(result.operation)},
      {"n", result.size.n},
      {"d_model", result.size.d_model},
      {"heads", result.size.heads},
      {"causal", is_causal(result.operation)},
      {"wall_ms", result.timing.wall_ms},
      {"gpu_ms", device.timestamp_period_ns > 0.0f ? ordered_json(result.timing.gpu_ms) : ordered_json(nullptr)},
      {"gflops", number(rate)},
      {"device", device.name},
      {"driver", device.driver},
      {"variant", result.variant},
      {"dispatches", result.timing.dispatches},
      {"device_bytes", number(result.device_bytes)},
      {"state_bytes", number(result.state_bytes)}};
  return to_text(row, -1) + "\n";
}

}  // namespace headlight::bench
