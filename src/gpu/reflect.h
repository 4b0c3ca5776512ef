#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headlight::gpu {

/// What a kernel expects, read from its SPIR-V.
struct Reflection {
  enum class Kind : std::uint8_t { Storage, UniformTexel };
  struct Binding {
    std::uint32_t number = 0;
    Kind kind = Kind::Storage;
    bool is_written = false;
  };
  std::vector<Binding> bindings;  ///< sorted by number
  std::uint32_t push_constant_bytes = 0;
  std::uint32_t local_size[3] = {1, 1, 1};  ///< the default where a specialization constant sets it
  std::uint32_t constants = 0;              ///< one more than the largest constant_id
};

/// Throws Error naming the kernel when the words are no compute shader or use what Headlight's kernels never use.
Reflection reflect(const std::string& kernel_name, std::span<const std::uint32_t> spirv);

}  // namespace headlight::gpu
