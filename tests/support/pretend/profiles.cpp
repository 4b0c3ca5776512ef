#include "profile.h"

#include <algorithm>

namespace headlight::pretend {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kHost = kVisible | kCoherent;

}  // namespace

// Types and heaps are those that the drivers list (vulkan.gpuinfo.org), heaps smaller where a test is to fill them.
const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all{
      {.id = "geforce",
       .name = "Pretended GeForce",
       .driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
       .heaps = {{8192, true}, {8192, false}, {246, true}},  // the last: the window without resizable BAR
       .types = {{0, 1}, {kLocal, 0}, {kHost, 1}, {kHost | kCached, 1}, {kLocal | kHost, 2}},
       .most_groups = 65'535,
       .alignment = 64},
      {.id = "datacentre",
       .name = "Pretended data-centre card",
       .driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
       .heaps = {{8192, true}, {8192, false}},
       .types = {{0, 1}, {kLocal, 0}, {kHost, 1}, {kHost | kCached, 1}, {kLocal | kHost, 0}},
       .presents = false},
      {.id = "radeon",
       .name = "Pretended Radeon with resizable BAR",
       .heaps = {{8192, true}, {8192, false}},
       .types = {{kLocal, 0}, {kHost, 1}, {kLocal | kHost, 0}, {kHost | kCached, 1}},
       .subgroup = 64},
      {.id = "radeon-window",
       .name = "Pretended Radeon with a full window",
       .heaps = {{8192, true}, {8192, false}, {0, true}},  // other programs have the memory that the host can reach
       .types = {{kLocal, 0}, {kHost, 1}, {kLocal | kHost, 2}, {kHost | kCached, 1}},
       .subgroup = 64},
      {.id = "radeon-apu",
       .name = "Pretended Radeon beside a processor",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .heaps = {{16, true}, {8192, false}, {1, true}},
       .types = {{kLocal, 0}, {kLocal | kHost, 2}, {kHost, 1}, {kHost | kCached, 1}},
       .subgroup = 64},
      {.id = "iris",
       .name = "Pretended Iris",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
       .heaps = {{8192, true}},
       .types = {{kLocal, 0}, {kLocal | kHost, 0}, {kLocal | kHost | kCached, 0}},
       .subgroup = 32,
       .timestamp_bits = 36,
       .most_groups = 65'535,
       .range_mib = 1024},
      {.id = "mali",
       .name = "Pretended Mali",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_ARM_PROPRIETARY,
       .heaps = {{4096, true}},
       .types = {{kLocal | kHost, 0}, {kLocal | kVisible | kCached, 0}},
       .subgroup = 16,
       .timestamp_bits = 0,
       .most_groups = 65'535,
       .range_mib = 128,
       .texels = 65'536,
       .refused_lanes = 256},
      {.id = "v3d",
       .name = "Pretended V3D",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_BROADCOM_PROPRIETARY,
       .heaps = {{2048, true}},
       .types = {{kLocal | kHost, 0}},
       .subgroup = 16,
       .most_lanes = 256,
       .most_groups = 65'535,
       .shared_bytes = 16'384,
       .range_mib = 1024,
       .refused_lanes = 128},
      {.id = "adreno",
       .name = "Pretended Adreno",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_QUALCOMM_PROPRIETARY,
       .heaps = {{4096, true}},
       .types = {{kLocal, 0}, {kLocal | kHost, 0}, {kLocal | kVisible | kCached, 0}, {kLocal | kHost | kCached, 0}},
       .subgroup = 64,
       .timestamp_bits = 48,
       .most_groups = 65'535,
       .range_mib = 128,
       .texels = 65'536,
       .alignment = 64,
       .refused_lanes = 256,
       .flushes_halves = true},
      {.id = "apple",
       .name = "Pretended Apple M2",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_MOLTENVK,
       .heaps = {{8192, true}},
       .types = {{kLocal, 0}, {kLocal | kHost | kCached, 0}},
       .alignment = 16},
      {.id = "powervr",
       .name = "Pretended PowerVR",
       .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
       .driver = VK_DRIVER_ID_IMAGINATION_PROPRIETARY,
       .heaps = {{2048, true}},
       .types = {{kLocal | kHost, 0}, {kLocal | kHost | kCached, 0}},
       .timestamp_bits = 0,
       .most_lanes = 512,
       .shared_bytes = 16'384,
       .flushes_halves = true},
      {.id = "smallest",
       .name = "Pretended device of the smallest limits",
       .heaps = {{1024, true}, {1024, false}},
       .types = {{kLocal, 0}, {kHost, 1}},
       .subgroup = 1,
       .timestamp_bits = 0,
       .presents = false,
       .most_lanes = 128,
       .most_groups = 65'535,
       .shared_bytes = 16'384,
       .range_mib = 128,
       .texels = 65'536,
       .alignment = 256}};
  return all;
}

const Profile* find_profile(std::string_view id) {
  const auto found = std::ranges::find(profiles(), id, &Profile::id);
  return found == profiles().end() ? nullptr : &*found;
}

}  // namespace headlight::pretend
