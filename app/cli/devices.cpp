#include "app/cli/subcommands.h"

#include <iostream>
#include <optional>

#include <fmt/ranges.h>

#include "app/cli/output.h"
#include "app/state/settings.h"
#include "gpu/context.h"
#include "gpu/device_info.h"
#include "ops/kernel_variant.h"
#include "ops/tuning.h"

namespace headlight::app {
namespace {

std::string mebibytes(std::size_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

/// Units that multiply matrices: are there any, and does this build use them?
std::string matrices(const gpu::DeviceInfo& device) {
  if (device.matrix_lanes == 0) return "no cooperative matrices of float16";
  return fmt::format("cooperative matrices of 16 x 16 float16, subgroups of {}{}", device.matrix_lanes,
                     ops::has_matrix_kernels() ? "" : ", which this build can't use: its glslc doesn't know them");
}

/// Returns the kernels that every command computes with.
std::string kernels(const gpu::DeviceInfo& device) {
  const std::optional<ops::Tuning> measured = ops::load_tuning(device, tuning_file());
  const ops::Tuning tuning = measured.value_or(ops::default_tuning(device));
  const std::string_view origin = measured                   ? "measured"
                                  : ops::can_measure(device) ? "a guess until `headlight-bench` or the idle window measures"
                                                             : "a guess: without timestamps nothing is measured";
  return fmt::format("linear {} (few rows) and {}, attention {} ({})", to_string(tuning.few_rows),
                     to_string(tuning.many_rows), to_string(tuning.attention), origin);
}

std::string description(const gpu::DeviceInfo& device) {
  std::string text = fmt::format("{}: {}\n", device.index, device.name);
  text += fmt::format("   {}, {}, Vulkan {}\n", device.kind, device.driver, device.api);
  text +=
      fmt::format("   memory {}, storage range {}, shared memory {} KiB, subgroups of {}\n", mebibytes(device.memory_bytes),
                  mebibytes(device.max_storage_range), device.shared_memory_bytes >> 10, device.subgroup_size);
  text += fmt::format("   {}\n", matrices(device));
  if (device.is_usable()) {
    text += fmt::format("   kernels: {}\n", kernels(device));
    if (const std::set<std::string> faults = ops::load_faults(device, tuning_file()); !faults.empty()) {
      text += fmt::format("   left out, for `headlight check` found wrong numbers: {}\n", fmt::join(faults, ", "));
    }
    text += device.timestamp_period_ns > 0.0f ? "   usable\n" : "   usable; no timestamps, so GPU times are not measured\n";
  } else {
    text += fmt::format("   not usable: {}\n", fmt::join(device.lacks, ", "));
  }
  return text;
}

void tell(const gpu::DeviceInfo& device) {
  const std::string text = description(device);
  if (!output_choice().writes_json) return static_cast<void>(std::cout << text);
  write_json(
      {{"index", device.index}, {"name", device.name}, {"kind", device.kind}, {"lacks", device.lacks}, {"text", text}});
}

int run_devices(const std::string& wanted) {
  if (!wanted.empty()) {
    gpu::ContextOptions options;
    options.device = wanted;
    tell(gpu::Context(options).device());
    return 0;
  }
  const std::vector<gpu::DeviceInfo> devices = gpu::list_devices();
  if (devices.empty()) {
    gpu::Context no_device;  // says why, and what to install
    return 1;
  }
  for (const gpu::DeviceInfo& device : devices) tell(device);
  return 0;
}

}  // namespace

Subcommand add_devices_command(CLI::App& app) {
  const auto [command, device, made] = begin_subcommand(app, "devices", run_devices);
  add_device_flag(*command, *device);
  return made;
}

}  // namespace headlight::app
