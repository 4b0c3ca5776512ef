#pragma once

#include <utility>

#include "gpu/handles.h"

namespace headlight::gpu {

/// Throws the Error, with its kind, that says what Vulkan reported.
[[noreturn]] void fail(const DeviceInfo& device, const vk::SystemError& error);

/// Does `work` and turns what Vulkan throws into an Error in one line: nothing of gpu/ lets a Vulkan exception out.
template <typename Work>
decltype(auto) guarded(const Context::Handles& handles, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const vk::SystemError& error) {
    fail(handles.info, error);
  }
}

}  // namespace headlight::gpu
