#pragma once

#include <bit>
#include <cstddef>

#include "gpu/buffer.h"
#include "gpu/handles.h"

namespace headlight::gpu {

/// llvmpipe compiles a kernel again for texel buffers of another kind of size: where the buffer's is a power of two, and
/// where bits 8 to 15 of the view's are zero, which it takes for a mip level. Where a kernel is compiled when it runs,
/// buffers have room behind their bytes and some views reach into it, so that one compiled kernel serves them all.
inline constexpr std::size_t kViewRoom = 256;

inline std::size_t size_with_room(std::size_t bytes) {
  const std::size_t size = bytes + kViewRoom;
  return std::has_single_bit(size) ? size + kViewRoom : size;
}

inline std::size_t view_size(std::size_t bytes) {
  constexpr std::size_t kLevelBits = 0xff00;
  return (bytes & kLevelBits) == 0 ? bytes + kViewRoom : bytes;
}

struct Buffer::Handles {
  Context* context = nullptr;
  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::Buffer buffer = nullptr;
  std::size_t allocated = 0;

  ~Handles();
};

}  // namespace headlight::gpu
