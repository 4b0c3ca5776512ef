#include "app/cli/subcommands.h"

#include <cstdlib>
#include <iostream>

#include <fmt/ranges.h>

#include "app/checks/check_run.h"
#include "app/checks/checks.h"
#include "app/cli/output.h"
#include "app/state/settings.h"
#include "gpu/context.h"
#include "ops/tuning.h"

namespace headlight::app {
namespace {

struct CheckFlags {
  CheckOptions options;
  std::string device;
  bool forgets = false;
};

std::vector<std::string> group_names() {
  std::vector<std::string> names;
  for (const checks::Group& group : checks::groups()) names.emplace_back(group.name);
  return names;
}

/// Returns the one that the flag names, else all of this machine. Throws Error where there is none, with what to install.
std::vector<gpu::DeviceInfo> devices_of(const CheckFlags& flags) {
  if (!flags.device.empty()) return {gpu::Context({.device = flags.device}).device()};
  std::vector<gpu::DeviceInfo> devices = gpu::list_devices();
  if (devices.empty()) gpu::Context no_device;
  return devices;
}

int run_check_command(const CheckFlags& flags) {
  if (const char* step = std::getenv(kCheckChild)) {
    checks::run(flags.device, flags.options.is_quick, flags.options.groups,
                static_cast<std::uint32_t>(parse_integer(kCheckChild, step, 0, std::uint64_t{1} << 20)));
    return 0;
  }
  if (flags.forgets) {
    for (const gpu::DeviceInfo& device : devices_of(flags)) {
      const std::set<std::string> kernels = ops::load_faults(device, tuning_file());
      ops::save_faults(device, tuning_file(), {});
      tell_result(
          fmt::format("{}: {}", device.name,
                      kernels.empty() ? "no kernel was left out" : fmt::format("used again: {}", fmt::join(kernels, ", "))),
          {{"device", device.name}, {"forgotten", kernels}});
    }
    return 0;
  }
  const bool has_table = !output_choice().writes_json;
  std::vector<DeviceReport> reports;
  bool is_fine = true;
  for (const gpu::DeviceInfo& device : devices_of(flags)) {
    if (has_table) std::cout << device_heading(device) << std::flush;
    reports.push_back(check_device(device, flags.options, [&](const CheckLine& line) {
      if (has_table && (!output_choice().is_quiet || line.status == CheckStatus::Fail)) {
        std::cout << table_row(line) << std::flush;
      }
    }));
    if (has_table) std::cout << "  " << summary(reports.back()) << "\n";
    is_fine = is_fine && reports.back().status() != CheckStatus::Fail;
  }
  if (!has_table) std::cout << report_json(reports, flags.options.is_quick) << "\n";
  return is_fine ? 0 : 1;
}

}  // namespace

Subcommand add_check_command(CLI::App& app) {
  const auto [command, shared, made] = begin_subcommand(app, "check", run_check_command);
  CheckFlags& flags = *shared;
  const FlagGroup what(*command, "What is checked");
  what.turn("--quick", "without single kernels and times: some seconds", flags.options.is_quick);
  what.add_repeatable("--groups", "GROUP,...", "only these groups, in place of all or of the quick ones",
                      [&flags](const std::vector<std::string>& values) {
                        flags.options.groups = split_list("--groups", values);
                        for (const std::string& name : flags.options.groups) parse_choice("--groups", name, group_names());
                      });
  offer_words(*command, "--groups", group_names(), Offer::List);
  what.add("--patience", "SECONDS", "a device that gives no line for so long hangs (default: 60)",
           [&flags](const std::string& text) {
             flags.options.patience = std::chrono::seconds(parse_integer("--patience", text, 1, 3'600));
           });
  what.turn("--forget", "check nothing: kernels that a check left out are used again", flags.forgets);
  add_device_flag(*command, flags.device);
  return made;
}

}  // namespace headlight::app
