#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <vulkan/vulkan.h>

namespace headlight::pretend {

struct Heap {
  VkDeviceSize mib = 0;
  bool is_local = false;
};

struct MemoryType {
  VkMemoryPropertyFlags flags = 0;
  std::uint32_t heap = 0;
};

/// The properties that a driver states about its device, and its differences in behaviour from the software driver that
/// does the work. A limit of 0 stays the software driver's.
struct Profile {
  std::string_view id;    ///< the value of HEADLIGHT_PRETEND
  std::string_view name;  ///< of the device
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  VkDriverId driver = VK_DRIVER_ID_MESA_RADV;
  std::vector<Heap> heaps;  ///< allocations beyond a heap's size fail
  std::vector<MemoryType> types;
  std::uint32_t subgroup = 32;
  std::uint32_t timestamp_bits = 64;  ///< 0: no timestamps
  bool presents = true;               ///< on the display
  std::uint32_t most_lanes = 0;       ///< of a workgroup
  std::uint32_t most_groups = 0;      ///< along each axis
  std::uint32_t shared_bytes = 0;
  std::uint32_t range_mib = 0;  ///< of a storage buffer
  std::uint32_t texels = 0;     ///< of a texel buffer
  std::uint32_t alignment = 0;  ///< of offsets, in bytes
  std::uint32_t refused_lanes =
      0;                        ///< pipelines of workgroups with so many lanes or more fail, though the limits allow them
  bool flushes_halves = false;  ///< unpackHalf2x16 gives 0 for subnormal float16
};

const std::vector<Profile>& profiles();

/// Returns the profile of that id; null where there is none.
const Profile* find_profile(std::string_view id);

}  // namespace headlight::pretend
