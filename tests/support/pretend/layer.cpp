// A Vulkan layer that makes the first device of a machine look like another one: HEADLIGHT_PRETEND names a line of
// profiles.cpp. The software driver below does the work. Loaded by VK_LAYER_PATH and
// VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_pretend. Other devices stay as they are: with the same driver listed twice
// (VK_DRIVER_FILES) a machine has two.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "module_edits.h"
#include "profile.h"

namespace headlight::pretend {
namespace {

// Functions of the driver below that the layer calls.
#define INSTANCE_FUNCTIONS(X)           \
  X(CreateDevice)                       \
  X(DestroyInstance)                    \
  X(EnumeratePhysicalDevices)           \
  X(GetPhysicalDeviceMemoryProperties)  \
  X(GetPhysicalDeviceMemoryProperties2) \
  X(GetPhysicalDeviceProperties)        \
  X(GetPhysicalDeviceProperties2)       \
  X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceQueueFamilyProperties2) X(GetPhysicalDeviceSurfaceSupportKHR)
#define DEVICE_FUNCTIONS(X) \
  X(AllocateMemory)         \
  X(CreateComputePipelines) \
  X(CreateShaderModule)     \
  X(DestroyDevice) X(FreeMemory) X(GetBufferMemoryRequirements) X(GetImageMemoryRequirements) X(MapMemory)

struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
  VkPhysicalDevice pretended = VK_NULL_HANDLE;  ///< the first one that was listed
#define MEMBER(name) PFN_vk##name name = nullptr;
  INSTANCE_FUNCTIONS(MEMBER)
};

struct Device {
  VkDevice handle = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr next = nullptr;
  bool is_pretended = false;
  DEVICE_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct Allocation {
  std::uint32_t type = 0;
  VkDeviceSize bytes = 0;
};

std::mutex g_mutex;
std::map<void*, Instance> g_instances;  // by the loader's dispatch pointer, which an instance's physical devices share
std::map<void*, Device> g_devices;
std::map<VkDeviceMemory, Allocation> g_allocations;
std::map<std::uint32_t, VkDeviceSize> g_used_bytes;  // of heaps
std::map<VkShaderModule, Lanes> g_lanes;

template <typename Handle>
void* key_of(Handle handle) {
  return *reinterpret_cast<void**>(handle);
}

template <typename Handle>
Instance& instance_of(Handle handle) {
  const std::lock_guard lock(g_mutex);
  return g_instances.at(key_of(handle));
}

Device& device_of(VkDevice handle) {
  const std::lock_guard lock(g_mutex);
  return g_devices.at(key_of(handle));
}

/// The profile of the instance that was created last: an earlier instance may keep the layer loaded.
const Profile* g_profile = nullptr;

const Profile& profile() { return *g_profile; }

void choose_profile() {
  const char* id = std::getenv("HEADLIGHT_PRETEND");
  g_profile = find_profile(id != nullptr ? id : "");
  if (g_profile != nullptr) return;
  std::fprintf(stderr, "HEADLIGHT_PRETEND names none of the pretended devices:");
  for (const Profile& one : profiles()) std::fprintf(stderr, " %.*s", static_cast<int>(one.id.size()), one.id.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

bool is_pretended(VkPhysicalDevice physical) { return instance_of(physical).pretended == physical; }

template <typename Number>
void set(Number& limit, std::uint32_t pretended) {
  if (pretended != 0) limit = pretended;
}

void change(VkPhysicalDeviceProperties& properties) {
  const Profile& one = profile();
  properties.deviceType = one.type;
  const std::string name(one.name);
  std::snprintf(properties.deviceName, sizeof(properties.deviceName), "%s", name.c_str());
  VkPhysicalDeviceLimits& limits = properties.limits;
  set(limits.maxComputeWorkGroupInvocations, one.most_lanes);
  for (std::uint32_t& size : limits.maxComputeWorkGroupSize) set(size, one.most_lanes);
  for (std::uint32_t& count : limits.maxComputeWorkGroupCount) set(count, one.most_groups);
  set(limits.maxComputeSharedMemorySize, one.shared_bytes);
  set(limits.maxStorageBufferRange, one.range_mib << 20);
  set(limits.maxTexelBufferElements, one.texels);
  set(limits.minStorageBufferOffsetAlignment, one.alignment);
  set(limits.minTexelBufferOffsetAlignment, one.alignment);
  set(limits.minUniformBufferOffsetAlignment, one.alignment);
}

void change_chain(void* chain) {
  for (auto* link = static_cast<VkBaseOutStructure*>(chain); link != nullptr; link = link->pNext) {
    if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) {
      reinterpret_cast<VkPhysicalDeviceDriverProperties*>(link)->driverID = profile().driver;
    } else if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES) {
      reinterpret_cast<VkPhysicalDeviceSubgroupProperties*>(link)->subgroupSize = profile().subgroup;
    }
  }
}

void change(VkPhysicalDeviceMemoryProperties& memory) {
  const Profile& one = profile();
  memory.memoryTypeCount = static_cast<std::uint32_t>(one.types.size());
  for (std::size_t i = 0; i < one.types.size(); ++i) memory.memoryTypes[i] = {one.types[i].flags, one.types[i].heap};
  memory.memoryHeapCount = static_cast<std::uint32_t>(one.heaps.size());
  for (std::size_t i = 0; i < one.heaps.size(); ++i) {
    memory.memoryHeaps[i] = {one.heaps[i].mib << 20,
                             one.heaps[i].is_local ? VkMemoryHeapFlags{VK_MEMORY_HEAP_DEVICE_LOCAL_BIT} : 0U};
  }
}

VKAPI_ATTR VkResult VKAPI_CALL own_EnumeratePhysicalDevices(VkInstance handle, std::uint32_t* count,
                                                            VkPhysicalDevice* physicals) {
  Instance& instance = instance_of(handle);
  const VkResult result = instance.EnumeratePhysicalDevices(handle, count, physicals);
  if (physicals != nullptr && *count > 0 && instance.pretended == VK_NULL_HANDLE) instance.pretended = physicals[0];
  return result;
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceProperties(VkPhysicalDevice physical,
                                                           VkPhysicalDeviceProperties* properties) {
  instance_of(physical).GetPhysicalDeviceProperties(physical, properties);
  if (is_pretended(physical)) change(*properties);
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceProperties2(VkPhysicalDevice physical,
                                                            VkPhysicalDeviceProperties2* properties) {
  instance_of(physical).GetPhysicalDeviceProperties2(physical, properties);
  if (!is_pretended(physical)) return;
  change(properties->properties);
  change_chain(properties->pNext);
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice physical,
                                                                 VkPhysicalDeviceMemoryProperties* memory) {
  instance_of(physical).GetPhysicalDeviceMemoryProperties(physical, memory);
  if (is_pretended(physical)) change(*memory);
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceMemoryProperties2(VkPhysicalDevice physical,
                                                                  VkPhysicalDeviceMemoryProperties2* memory) {
  instance_of(physical).GetPhysicalDeviceMemoryProperties2(physical, memory);
  if (is_pretended(physical)) change(memory->memoryProperties);
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice physical, std::uint32_t* count,
                                                                      VkQueueFamilyProperties* families) {
  instance_of(physical).GetPhysicalDeviceQueueFamilyProperties(physical, count, families);
  if (families == nullptr || !is_pretended(physical)) return;
  for (VkQueueFamilyProperties& family : std::span(families, *count)) family.timestampValidBits = profile().timestamp_bits;
}

VKAPI_ATTR void VKAPI_CALL own_GetPhysicalDeviceQueueFamilyProperties2(VkPhysicalDevice physical, std::uint32_t* count,
                                                                       VkQueueFamilyProperties2* families) {
  instance_of(physical).GetPhysicalDeviceQueueFamilyProperties2(physical, count, families);
  if (families == nullptr || !is_pretended(physical)) return;
  for (VkQueueFamilyProperties2& family : std::span(families, *count)) {
    family.queueFamilyProperties.timestampValidBits = profile().timestamp_bits;
  }
}

VKAPI_ATTR VkResult VKAPI_CALL own_GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice physical, std::uint32_t family,
                                                                      VkSurfaceKHR surface, VkBool32* is_supported) {
  const VkResult result = instance_of(physical).GetPhysicalDeviceSurfaceSupportKHR(physical, family, surface, is_supported);
  if (is_pretended(physical) && !profile().presents) *is_supported = VK_FALSE;
  return result;
}

VKAPI_ATTR void VKAPI_CALL own_GetBufferMemoryRequirements(VkDevice handle, VkBuffer buffer, VkMemoryRequirements* needs) {
  const Device& device = device_of(handle);
  device.GetBufferMemoryRequirements(handle, buffer, needs);
  if (device.is_pretended) needs->memoryTypeBits = (1U << profile().types.size()) - 1;
}

VKAPI_ATTR void VKAPI_CALL own_GetImageMemoryRequirements(VkDevice handle, VkImage image, VkMemoryRequirements* needs) {
  const Device& device = device_of(handle);
  device.GetImageMemoryRequirements(handle, image, needs);
  if (device.is_pretended) needs->memoryTypeBits = (1U << profile().types.size()) - 1;
}

VKAPI_ATTR VkResult VKAPI_CALL own_AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkDeviceMemory* memory) {
  const Device& device = device_of(handle);
  if (!device.is_pretended) return device.AllocateMemory(handle, info, allocator, memory);
  const std::uint32_t heap = profile().types.at(info->memoryTypeIndex).heap;
  VkMemoryAllocateInfo real = *info;
  real.memoryTypeIndex = 0;  // software drivers have this one alone
  const std::lock_guard lock(g_mutex);
  VkDeviceSize& used = g_used_bytes[heap];
  if (used + info->allocationSize > profile().heaps.at(heap).mib << 20) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  const VkResult result = device.AllocateMemory(handle, &real, allocator, memory);
  if (result != VK_SUCCESS) return result;
  used += info->allocationSize;
  g_allocations[*memory] = {info->memoryTypeIndex, info->allocationSize};
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL own_FreeMemory(VkDevice handle, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
  const Device& device = device_of(handle);
  device.FreeMemory(handle, memory, allocator);
  const std::lock_guard lock(g_mutex);
  const auto freed = g_allocations.find(memory);
  if (freed == g_allocations.end()) return;
  g_used_bytes[profile().types.at(freed->second.type).heap] -= freed->second.bytes;
  g_allocations.erase(freed);
}

VKAPI_ATTR VkResult VKAPI_CALL own_MapMemory(VkDevice handle, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,
                                             VkMemoryMapFlags flags, void** data) {
  const Device& device = device_of(handle);
  if (device.is_pretended) {
    const std::lock_guard lock(g_mutex);
    const MemoryType& type = profile().types.at(g_allocations.at(memory).type);
    if ((type.flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) == 0) return VK_ERROR_MEMORY_MAP_FAILED;
  }
  return device.MapMemory(handle, memory, offset, size, flags, data);
}

VKAPI_ATTR VkResult VKAPI_CALL own_CreateShaderModule(VkDevice handle, const VkShaderModuleCreateInfo* info,
                                                      const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  const Device& device = device_of(handle);
  if (!device.is_pretended) return device.CreateShaderModule(handle, info, allocator, module);
  const std::span words(info->pCode, info->codeSize / sizeof(std::uint32_t));
  std::vector<std::uint32_t> edited;
  VkShaderModuleCreateInfo passed = *info;
  if (profile().flushes_halves) {
    edited = without_subnormal_halves(words);
    passed.pCode = edited.data();
    passed.codeSize = edited.size() * sizeof(std::uint32_t);
  }
  const VkResult result = device.CreateShaderModule(handle, &passed, allocator, module);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(g_mutex);
  g_lanes[*module] = lanes_of(words);
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL own_CreateComputePipelines(VkDevice handle, VkPipelineCache cache, std::uint32_t count,
                                                          const VkComputePipelineCreateInfo* infos,
                                                          const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const Device& device = device_of(handle);
  if (device.is_pretended && profile().refused_lanes > 0) {
    const std::lock_guard lock(g_mutex);
    for (const VkComputePipelineCreateInfo& info : std::span(infos, count)) {
      if (value_of(g_lanes[info.stage.module], info.stage.pSpecializationInfo) < profile().refused_lanes) continue;
      std::fill_n(pipelines, count, static_cast<VkPipeline>(VK_NULL_HANDLE));
      return VK_ERROR_UNKNOWN;
    }
  }
  return device.CreateComputePipelines(handle, cache, count, infos, allocator, pipelines);
}

/// The loader's entry for this layer in the chain of a create info.
template <typename Link>
Link* find_link(const void* chain, VkStructureType type) {
  auto* link = static_cast<Link*>(const_cast<void*>(chain));
  while (link != nullptr && (link->sType != type || link->function != VK_LAYER_LINK_INFO)) {
    link = static_cast<Link*>(const_cast<void*>(link->pNext));
  }
  return link;
}

VKAPI_ATTR VkResult VKAPI_CALL own_CreateInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                                  VkInstance* created) {
  choose_profile();
  auto* link = find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  Instance instance{.next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr};
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(instance.next(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, created);
  if (result != VK_SUCCESS) return result;
  instance.handle = *created;
#define LOAD(name) instance.name = reinterpret_cast<PFN_vk##name>(instance.next(*created, "vk" #name));
  INSTANCE_FUNCTIONS(LOAD)
#undef LOAD
  const std::lock_guard lock(g_mutex);
  g_instances[key_of(*created)] = instance;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL own_DestroyInstance(VkInstance handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const auto destroy = instance_of(handle).DestroyInstance;
  {
    const std::lock_guard lock(g_mutex);
    g_instances.erase(key_of(handle));
  }
  destroy(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL own_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                                const VkAllocationCallbacks* allocator, VkDevice* created) {
  const Instance& instance = instance_of(physical);
  auto* link = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  Device device{.next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr, .is_pretended = instance.pretended == physical};
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result = instance.CreateDevice(physical, info, allocator, created);
  if (result != VK_SUCCESS) return result;
  device.handle = *created;
#define LOAD(name) device.name = reinterpret_cast<PFN_vk##name>(device.next(*created, "vk" #name));
  DEVICE_FUNCTIONS(LOAD)
#undef LOAD
  const std::lock_guard lock(g_mutex);
  g_devices[key_of(*created)] = device;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL own_DestroyDevice(VkDevice handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const auto destroy = device_of(handle).DestroyDevice;
  {
    const std::lock_guard lock(g_mutex);
    g_devices.erase(key_of(handle));
  }
  destroy(handle, allocator);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_GetDeviceProcAddr(VkDevice handle, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_GetInstanceProcAddr(VkInstance handle, const char* name);

/// Returns the layer's function of that name; null where it has none.
PFN_vkVoidFunction find_own(std::string_view name) {
  static const std::map<std::string_view, PFN_vkVoidFunction> all{
#define ENTRY(name) {"vk" #name, reinterpret_cast<PFN_vkVoidFunction>(&own_##name)},
      INSTANCE_FUNCTIONS(ENTRY) DEVICE_FUNCTIONS(ENTRY) ENTRY(CreateInstance) ENTRY(GetDeviceProcAddr)
          ENTRY(GetInstanceProcAddr)
#undef ENTRY
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_GetDeviceProcAddr(VkDevice handle, const char* name) {
  const PFN_vkVoidFunction next = device_of(handle).next(handle, name);
  const PFN_vkVoidFunction own = find_own(name);
  return next != nullptr && own != nullptr ? own : next;  // functions that the device lacks stay missing
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL own_GetInstanceProcAddr(VkInstance handle, const char* name) {
  const PFN_vkVoidFunction own = find_own(name);
  if (handle == VK_NULL_HANDLE || std::string_view(name) == "vkGetInstanceProcAddr") return own;
  const PFN_vkVoidFunction next = instance_of(handle).next(handle, name);
  return next != nullptr && own != nullptr ? own : next;
}

}  // namespace
}  // namespace headlight::pretend

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* negotiated) {
  negotiated->loaderLayerInterfaceVersion = std::min(negotiated->loaderLayerInterfaceVersion, 2U);
  negotiated->pfnGetInstanceProcAddr = &headlight::pretend::own_GetInstanceProcAddr;
  negotiated->pfnGetDeviceProcAddr = &headlight::pretend::own_GetDeviceProcAddr;
  negotiated->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
