#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/context.h"

namespace headlight::gpu {

/// A fact that the driver states about a device, in words.
struct DeviceFact {
  std::string_view group;  ///< "driver", "limits", "heaps", "queues", "float controls", "cooperative matrices"
  std::string name, text;  ///< "heap 0", "8192 MiB, of the device"
};

/// Returns the facts in the order of the groups. Any thread.
std::vector<DeviceFact> device_facts(const Context& context);

}  // namespace headlight::gpu
