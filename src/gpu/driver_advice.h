#pragma once

#include <string>
#include <string_view>

namespace headlight::gpu {

/// Returns what to install where there is no Vulkan driver, as the rest of a sentence: the command of the distribution
/// that `os_release` describes (/etc/os-release, freedesktop.org), or a general advice for those that aren't known.
std::string driver_advice(std::string_view os_release);
/// Returns the advice for this computer.
std::string driver_advice();

}  // namespace headlight::gpu
