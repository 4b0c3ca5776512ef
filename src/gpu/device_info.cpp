#include "gpu/device_info.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "gpu/cooperative_matrices.h"
#include "gpu/handles.h"
#include "platform/memory.h"

namespace headlight::gpu {
namespace {

std::string_view kind_name(vk::PhysicalDeviceType type) {
  // The names are in the order of vk::PhysicalDeviceType.
  constexpr std::array<std::string_view, 5> kNames = {"other", "integrated GPU", "discrete GPU", "virtual GPU", "CPU"};
  const auto index = static_cast<std::size_t>(type);
  return kNames[index < kNames.size() ? index : 0];
}

std::string version_name(std::uint32_t version) {
  return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                     VK_API_VERSION_PATCH(version));
}

/// The largest device-local heap, or all heaps where they are the computer's memory; with VK_EXT_memory_budget what is left.
std::size_t device_memory(const vk::raii::PhysicalDevice& physical, bool has_budget, bool is_integrated) {
  const vk::PhysicalDeviceMemoryProperties memory = physical.getMemoryProperties();
  vk::PhysicalDeviceMemoryBudgetPropertiesEXT budget;
  if (has_budget) {  // drivers without the extension complain on the terminal about its structure
    budget =
        physical.getMemoryProperties2<vk::PhysicalDeviceMemoryProperties2, vk::PhysicalDeviceMemoryBudgetPropertiesEXT>()
            .get<vk::PhysicalDeviceMemoryBudgetPropertiesEXT>();
  }
  std::size_t largest = 0, sum = 0;
  for (std::uint32_t heap = 0; heap < memory.memoryHeapCount; ++heap) {
    std::size_t bytes = memory.memoryHeaps[heap].size;
    if (budget.heapBudget[heap] != 0) bytes = std::min<std::size_t>(bytes, budget.heapBudget[heap]);
    sum += bytes;
    if (memory.memoryHeaps[heap].flags & vk::MemoryHeapFlagBits::eDeviceLocal) largest = std::max(largest, bytes);
  }
  return is_integrated ? sum : largest;
}

/// Is there memory of the device that the host reaches as its own?
bool shares_memory(const vk::PhysicalDeviceMemoryProperties& memory) {
  using Flag = vk::MemoryPropertyFlagBits;
  const vk::MemoryPropertyFlags wanted = Flag::eDeviceLocal | Flag::eHostVisible | Flag::eHostCoherent | Flag::eHostCached;
  return std::any_of(memory.memoryTypes.begin(), memory.memoryTypes.begin() + memory.memoryTypeCount,
                     [&](const vk::MemoryType& type) { return (type.propertyFlags & wanted) == wanted; });
}

bool wants_shaders_alone() {
  const char* kernels = std::getenv("HEADLIGHT_KERNELS");
  return kernels != nullptr && std::string_view(kernels) == "shaders";
}

/// Only two vendors' drivers say it; the guess for others is that of a small device of the kind, so that work is spread more
/// thinly than it need be rather than left to a part of the device.
std::uint32_t count_cores(const vk::raii::PhysicalDevice& physical, vk::PhysicalDeviceType type, bool has_amd,
                          bool has_nvidia) {
  std::uint32_t cores = 0;
  if (has_amd) {
    const auto properties =
        physical.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceShaderCorePropertiesAMD>()
            .get<vk::PhysicalDeviceShaderCorePropertiesAMD>();
    cores = properties.shaderEngineCount * properties.shaderArraysPerEngineCount * properties.computeUnitsPerShaderArray;
  } else if (has_nvidia) {
    cores = physical.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV>()
                .get<vk::PhysicalDeviceShaderSMBuiltinsPropertiesNV>()
                .shaderSMCount;
  }
  if (cores > 0) return cores;
  constexpr std::uint32_t kDiscrete = 40, kOther = 8;
  return type == vk::PhysicalDeviceType::eDiscreteGpu ? kDiscrete : kOther;
}

}  // namespace

std::optional<std::uint32_t> choose_compute_family(std::span<const QueueFamily> families) {
  const auto rank = [](const QueueFamily& family) { return (family.draws ? 0 : 2) + (family.timestamp_bits > 0 ? 1 : 0); };
  std::optional<std::uint32_t> best;
  for (std::uint32_t index = 0; index < families.size(); ++index) {
    if (families[index].computes && (!best || rank(families[index]) > rank(families[*best]))) best = index;
  }
  return best;
}

std::uint64_t timestamp_difference(std::uint64_t from, std::uint64_t to, std::uint32_t bits) {
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  return (to - from) & mask;
}

std::optional<std::uint32_t> find_compute_family(const vk::raii::PhysicalDevice& physical) {
  std::vector<QueueFamily> families;
  for (const vk::QueueFamilyProperties& family : physical.getQueueFamilyProperties()) {
    families.push_back({.computes = static_cast<bool>(family.queueFlags & vk::QueueFlagBits::eCompute),
                        .draws = static_cast<bool>(family.queueFlags & vk::QueueFlagBits::eGraphics),
                        .timestamp_bits = family.timestampValidBits});
  }
  return choose_compute_family(families);
}

DeviceInfo describe(const vk::raii::Instance& instance, const vk::raii::PhysicalDevice& physical) {
  const vk::PhysicalDeviceProperties basic = physical.getProperties();
  DeviceInfo info;
  info.name = basic.deviceName.data();
  info.api = version_name(basic.apiVersion);
  info.kind = kind_name(basic.deviceType);
  info.is_cpu = basic.deviceType == vk::PhysicalDeviceType::eCpu;
  info.max_storage_range = basic.limits.maxStorageBufferRange;
  info.max_texel_elements = basic.limits.maxTexelBufferElements;
  info.offset_alignment = std::max({basic.limits.minStorageBufferOffsetAlignment, basic.limits.minTexelBufferOffsetAlignment,
                                    basic.limits.minUniformBufferOffsetAlignment});
  std::copy(basic.limits.maxComputeWorkGroupCount.begin(), basic.limits.maxComputeWorkGroupCount.end(), info.max_groups);
  info.shared_memory_bytes = basic.limits.maxComputeSharedMemorySize;
  info.max_invocations = std::min(basic.limits.maxComputeWorkGroupInvocations, basic.limits.maxComputeWorkGroupSize[0]);

  if (basic.apiVersion < VK_API_VERSION_1_1) {
    info.lacks.push_back(fmt::format("it offers Vulkan {}, 1.1 is needed", info.api));
    return info;
  }
  const auto extensions = physical.enumerateDeviceExtensionProperties();
  const auto has = [&](std::string_view name) {
    return std::any_of(extensions.begin(), extensions.end(),
                       [&](const auto& extension) { return name == std::string_view(extension.extensionName.data()); });
  };
  const auto chain = physical.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceIDProperties,
                                             vk::PhysicalDeviceSubgroupProperties, vk::PhysicalDeviceMaintenance3Properties,
                                             vk::PhysicalDeviceDriverProperties>();
  for (const std::uint8_t byte : chain.get<vk::PhysicalDeviceIDProperties>().deviceUUID)
    info.uuid += fmt::format("{:02x}", byte);
  const auto& subgroups = chain.get<vk::PhysicalDeviceSubgroupProperties>();
  info.subgroup_size = subgroups.subgroupSize;
  info.has_subgroup_shuffle = (subgroups.supportedOperations & vk::SubgroupFeatureFlagBits::eShuffle) &&
                              (subgroups.supportedStages & vk::ShaderStageFlagBits::eCompute);
  info.max_allocation = chain.get<vk::PhysicalDeviceMaintenance3Properties>().maxMemoryAllocationSize;
  const bool has_driver_properties = basic.apiVersion >= VK_API_VERSION_1_2 || has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);
  const auto& driver = chain.get<vk::PhysicalDeviceDriverProperties>();
  info.driver = has_driver_properties ? fmt::format("{} {}", driver.driverName.data(), driver.driverInfo.data())
                                      : fmt::format("driver {:#x}", basic.driverVersion);
  info.cores = count_cores(physical, basic.deviceType, has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME),
                           has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME));
  info.matrix_lanes = find_matrix_lanes(instance, physical);
  info.compiles_when_run = has_driver_properties && driver.driverID == vk::DriverId::eMesaLlvmpipe;
  const bool is_integrated = basic.deviceType == vk::PhysicalDeviceType::eIntegratedGpu;
  info.memory_bytes = device_memory(physical, has(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME), is_integrated);
  info.loses_memory_asleep = !info.is_cpu && !is_integrated;
  info.runs_host_steps = info.is_cpu && shares_memory(physical.getMemoryProperties()) && !wants_shaders_alone();
  // llvmpipe calls 2 GiB its own whatever the computer has; a processor's device memory is the computer's.
  // Nine tenths of what this computer has left for programs.
  if (info.is_cpu) info.memory_bytes = std::max<std::size_t>(info.memory_bytes, platform::available_bytes() / 10 * 9);

  const auto family = find_compute_family(physical);
  if (!family) {
    info.lacks.emplace_back("it has no compute queue");
  } else {
    info.timestamp_bits = physical.getQueueFamilyProperties()[*family].timestampValidBits;
    if (info.timestamp_bits > 0) info.timestamp_period_ns = basic.limits.timestampPeriod;
  }
  // Below the specification's own minimums nothing is promised; a device that says so is broken.
  if (basic.limits.maxComputeWorkGroupInvocations < 128)
    info.lacks.emplace_back("its workgroups hold fewer than 128 invocations");
  if (info.shared_memory_bytes < 16384) info.lacks.emplace_back("it has less than 16 KiB of shared memory");
  return info;
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices;
  try {
    const vk::raii::Context loader;
    const vk::raii::Instance instance = make_instance(loader);
    for (const auto& physical : vk::raii::PhysicalDevices(instance)) {
      devices.push_back(describe(instance, physical));
      devices.back().index = static_cast<std::uint32_t>(devices.size() - 1);
    }
  } catch (const std::exception&) {
    // No loader, or no driver at all: vulkan-hpp reports both as exceptions, and both mean that there is no device.
  }
  return devices;
}

}  // namespace headlight::gpu
