#pragma once

#include "gpu/buffer.h"
#include "gpu/handles.h"

namespace headlight::gpu {

struct Buffer::Handles {
  Context* context = nullptr;
  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::Buffer buffer = nullptr;
  std::size_t allocated = 0;

  ~Handles();
};

}  // namespace headlight::gpu
