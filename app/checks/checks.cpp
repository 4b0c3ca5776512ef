#include "app/checks/checks.h"

#include <algorithm>
#include <array>
#include <iostream>

#include <nlohmann/json.hpp>

#include "app/checks/checker.h"
#include "core/error.h"
#include "core/json.h"
#include "gpu/context.h"

namespace headlight::checks {

std::span<const Group> groups() {
  static constexpr std::array kGroups{Group{"device", true, check_facts},
                                      Group{"display", true, check_presentation},
                                      Group{"arithmetic", true, check_arithmetic},
                                      Group{"choices", true, check_choices},
                                      Group{"captions", true, check_captions},
                                      Group{"linear", false, check_linear_kernels},
                                      Group{"attention", false, check_attention_kernels},
                                      Group{"small", false, check_small_kernels},
                                      Group{"times", false, check_times}};
  return kGroups;
}

void run(const std::string& device, bool is_quick, const std::vector<std::string>& names, std::uint32_t first_step) {
  const auto write = [](const nlohmann::ordered_json& json) { std::cout << to_text(json, -1) << std::endl; };
  gpu::Context context({.device = device});
  Checker check(context, first_step, write);
  try {
    for (const Group& group : groups()) {
      const bool is_named = std::ranges::find(names, group.name) != names.end();
      if (names.empty() ? is_quick && !group.is_quick : !is_named) continue;
      check.begin_group(group.name);
      group.run(check);
    }
    write({{"done", true}});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::DeviceLost) throw;
    write({{"lost", true}});
  }
}

}  // namespace headlight::checks
