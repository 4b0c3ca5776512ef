// A Vulkan layer that makes one call fail as a driver may: the Nth of one function, with a given result. Loaded by the
// Vulkan loader of the program under test (VK_LAYER_PATH, VK_INSTANCE_LAYERS=VK_LAYER_HEADLIGHT_fault) and controlled by
// the environment:
//   HEADLIGHT_FAULT="FUNCTION N RESULT [always] [works]"  e.g. "QueueSubmit 3 -4"; `always`: every later call of it fails
//   too;
//                                                 `works`: though the call says so, the device isn't lost and goes on
//                                                 working
//   HEADLIGHT_FAULT_COUNTS=FILE                   at exit, how often each function was called
//   HEADLIGHT_FAULT_PORTABILITY=1                 devices have VK_KHR_portability_subset and refuse to open without it
// A device that is lost (-4) stays lost until it is destroyed: its work has ended, and every submission or wait fails.
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

// name, parameters, arguments
#define FAULT_FUNCTIONS(X)                                                                                                  \
  X(AllocateMemory, (VkDevice a, const VkMemoryAllocateInfo* b, const VkAllocationCallbacks* c, VkDeviceMemory* d),         \
    (a, b, c, d))                                                                                                           \
  X(CreateBuffer, (VkDevice a, const VkBufferCreateInfo* b, const VkAllocationCallbacks* c, VkBuffer* d), (a, b, c, d))     \
  X(CreateBufferView, (VkDevice a, const VkBufferViewCreateInfo* b, const VkAllocationCallbacks* c, VkBufferView* d),       \
    (a, b, c, d))                                                                                                           \
  X(CreateImage, (VkDevice a, const VkImageCreateInfo* b, const VkAllocationCallbacks* c, VkImage* d), (a, b, c, d))        \
  X(CreateImageView, (VkDevice a, const VkImageViewCreateInfo* b, const VkAllocationCallbacks* c, VkImageView* d),          \
    (a, b, c, d))                                                                                                           \
  X(CreateSampler, (VkDevice a, const VkSamplerCreateInfo* b, const VkAllocationCallbacks* c, VkSampler* d), (a, b, c, d))  \
  X(CreateFramebuffer, (VkDevice a, const VkFramebufferCreateInfo* b, const VkAllocationCallbacks* c, VkFramebuffer* d),    \
    (a, b, c, d))                                                                                                           \
  X(CreateRenderPass, (VkDevice a, const VkRenderPassCreateInfo* b, const VkAllocationCallbacks* c, VkRenderPass* d),       \
    (a, b, c, d))                                                                                                           \
  X(CreateComputePipelines,                                                                                                 \
    (VkDevice a, VkPipelineCache b, uint32_t c, const VkComputePipelineCreateInfo* d, const VkAllocationCallbacks* e,       \
     VkPipeline* f),                                                                                                        \
    (a, b, c, d, e, f))                                                                                                     \
  X(CreateGraphicsPipelines,                                                                                                \
    (VkDevice a, VkPipelineCache b, uint32_t c, const VkGraphicsPipelineCreateInfo* d, const VkAllocationCallbacks* e,      \
     VkPipeline* f),                                                                                                        \
    (a, b, c, d, e, f))                                                                                                     \
  X(CreateShaderModule, (VkDevice a, const VkShaderModuleCreateInfo* b, const VkAllocationCallbacks* c, VkShaderModule* d), \
    (a, b, c, d))                                                                                                           \
  X(CreateDescriptorPool,                                                                                                   \
    (VkDevice a, const VkDescriptorPoolCreateInfo* b, const VkAllocationCallbacks* c, VkDescriptorPool* d), (a, b, c, d))   \
  X(CreateDescriptorSetLayout,                                                                                              \
    (VkDevice a, const VkDescriptorSetLayoutCreateInfo* b, const VkAllocationCallbacks* c, VkDescriptorSetLayout* d),       \
    (a, b, c, d))                                                                                                           \
  X(CreatePipelineLayout,                                                                                                   \
    (VkDevice a, const VkPipelineLayoutCreateInfo* b, const VkAllocationCallbacks* c, VkPipelineLayout* d), (a, b, c, d))   \
  X(AllocateDescriptorSets, (VkDevice a, const VkDescriptorSetAllocateInfo* b, VkDescriptorSet* c), (a, b, c))              \
  X(CreateCommandPool, (VkDevice a, const VkCommandPoolCreateInfo* b, const VkAllocationCallbacks* c, VkCommandPool* d),    \
    (a, b, c, d))                                                                                                           \
  X(AllocateCommandBuffers, (VkDevice a, const VkCommandBufferAllocateInfo* b, VkCommandBuffer* c), (a, b, c))              \
  X(CreateQueryPool, (VkDevice a, const VkQueryPoolCreateInfo* b, const VkAllocationCallbacks* c, VkQueryPool* d),          \
    (a, b, c, d))                                                                                                           \
  X(CreateFence, (VkDevice a, const VkFenceCreateInfo* b, const VkAllocationCallbacks* c, VkFence* d), (a, b, c, d))        \
  X(CreateSemaphore, (VkDevice a, const VkSemaphoreCreateInfo* b, const VkAllocationCallbacks* c, VkSemaphore* d),          \
    (a, b, c, d))                                                                                                           \
  X(CreateSwapchainKHR, (VkDevice a, const VkSwapchainCreateInfoKHR* b, const VkAllocationCallbacks* c, VkSwapchainKHR* d), \
    (a, b, c, d))                                                                                                           \
  X(MapMemory, (VkDevice a, VkDeviceMemory b, VkDeviceSize c, VkDeviceSize d, VkMemoryMapFlags e, void** f),                \
    (a, b, c, d, e, f))                                                                                                     \
  X(BindBufferMemory, (VkDevice a, VkBuffer b, VkDeviceMemory c, VkDeviceSize d), (a, b, c, d))                             \
  X(BeginCommandBuffer, (VkCommandBuffer a, const VkCommandBufferBeginInfo* b), (a, b))                                     \
  X(EndCommandBuffer, (VkCommandBuffer a), (a))                                                                             \
  X(ResetFences, (VkDevice a, uint32_t b, const VkFence* c), (a, b, c))

// The functions that always fail on a lost device.
#define WORKING_FUNCTIONS(X)                                                                                      \
  X(QueueSubmit, (VkQueue a, uint32_t b, const VkSubmitInfo* c, VkFence d), (a, b, c, d))                         \
  X(WaitForFences, (VkDevice a, uint32_t b, const VkFence* c, VkBool32 d, uint64_t e), (a, b, c, d, e))           \
  X(GetFenceStatus, (VkDevice a, VkFence b), (a, b))                                                              \
  X(QueueWaitIdle, (VkQueue a), (a))                                                                              \
  X(DeviceWaitIdle, (VkDevice a), (a))                                                                            \
  X(AcquireNextImageKHR, (VkDevice a, VkSwapchainKHR b, uint64_t c, VkSemaphore d, VkFence e, uint32_t * f),      \
    (a, b, c, d, e, f))                                                                                           \
  X(QueuePresentKHR, (VkQueue a, const VkPresentInfoKHR* b), (a, b))                                              \
  X(GetQueryPoolResults,                                                                                          \
    (VkDevice a, VkQueryPool b, uint32_t c, uint32_t d, size_t e, void* f, VkDeviceSize g, VkQueryResultFlags h), \
    (a, b, c, d, e, f, g, h))

namespace {

constexpr const char* kSubset = "VK_KHR_portability_subset";

/// The layers below, for one device.
struct Device {
  VkDevice handle = VK_NULL_HANDLE;
  bool is_lost = false;
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkDestroyDevice DestroyDevice = nullptr;
#define MEMBER(name, parameters, arguments) PFN_vk##name name = nullptr;
  FAULT_FUNCTIONS(MEMBER)
  WORKING_FUNCTIONS(MEMBER)
#undef MEMBER
};

struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties extensions = nullptr;
};

/// The settings of the environment.
struct Fault {
  std::string function;
  int number = 0;
  int result = 0;
  bool is_always = false;
  bool works = false;
};

Fault read_fault() {
  Fault fault;
  const char* text = std::getenv("HEADLIGHT_FAULT");
  std::string word;
  std::istringstream words(text != nullptr ? text : "");
  words >> fault.function >> fault.number >> fault.result;
  while (words >> word) {
    fault.is_always = fault.is_always || word == "always";
    fault.works = fault.works || word == "works";
  }
  return fault;
}

std::recursive_mutex g_mutex;
std::map<void*, Device>
    g_devices;  // by the loader's dispatch pointer in handles of a device, its queues and its command buffers
std::map<void*, Instance> g_instances;
std::map<std::string, int> g_counts;
const Fault g_fault = read_fault();

template <typename Handle>
void* key_of(Handle handle) {
  return *reinterpret_cast<void**>(handle);
}

template <typename Handle>
Device& device_of(Handle handle) {
  const std::lock_guard lock(g_mutex);
  return g_devices.at(key_of(handle));
}

bool pretends_subset() { return std::getenv("HEADLIGHT_FAULT_PORTABILITY") != nullptr; }

/// Counts a call; true when it must fail.
bool is_due(const char* name) {
  const std::lock_guard lock(g_mutex);
  const int number = ++g_counts[name];
  return g_fault.function == name && (number == g_fault.number || (g_fault.is_always && number > g_fault.number));
}

VkResult fail(Device& device) {
  if (g_fault.result == VK_ERROR_DEVICE_LOST && !g_fault.works) {
    device.DeviceWaitIdle(device.handle);  // nothing runs any more on a lost device
    device.is_lost = true;
  }
  return static_cast<VkResult>(g_fault.result);
}

#define WRAP(name, parameters, arguments)                  \
  VKAPI_ATTR VkResult VKAPI_CALL fault_##name parameters { \
    Device& device = device_of(a);                         \
    if (is_due(#name)) return fail(device);                \
    return device.name arguments;                          \
  }
FAULT_FUNCTIONS(WRAP)
#undef WRAP

#define WRAP(name, parameters, arguments)                                 \
  VKAPI_ATTR VkResult VKAPI_CALL fault_##name parameters {                \
    Device& device = device_of(a);                                        \
    if (is_due(#name)) return fail(device);                               \
    return device.is_lost ? VK_ERROR_DEVICE_LOST : device.name arguments; \
  }
WORKING_FUNCTIONS(WRAP)
#undef WRAP

void write_counts() {
  const char* path = std::getenv("HEADLIGHT_FAULT_COUNTS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (const auto& [name, count] : g_counts) std::fprintf(file, "%s %d\n", name.c_str(), count);
  std::fclose(file);
}

/// The loader's entry for this layer in the chain of a create info.
template <typename Link>
Link* find_link(const void* chain, VkStructureType type) {
  for (auto* link = static_cast<Link*>(const_cast<void*>(chain)); link != nullptr;
       link = static_cast<Link*>(const_cast<void*>(link->pNext))) {
    if (link->sType == type && link->function == VK_LAYER_LINK_INFO) return link;
  }
  return nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL fault_CreateInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                                    VkInstance* instance) {
  static const int registered = std::atexit(&write_counts);
  static_cast<void>(registered);
  auto* link = find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  if (is_due("CreateInstance")) return static_cast<VkResult>(g_fault.result);
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(g_mutex);
  // The command is looked up here, because the loader would return the top of the chain later.
  const auto extensions =
      reinterpret_cast<PFN_vkEnumerateDeviceExtensionProperties>(next(*instance, "vkEnumerateDeviceExtensionProperties"));
  g_instances[key_of(*instance)] = {*instance, next, extensions};
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL fault_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                                  const VkAllocationCallbacks* allocator, VkDevice* created) {
  if (is_due("CreateDevice")) return static_cast<VkResult>(g_fault.result);
  VkDeviceCreateInfo passed = *info;
  std::vector<const char*> extensions(info->ppEnabledExtensionNames,
                                      info->ppEnabledExtensionNames + info->enabledExtensionCount);
  if (pretends_subset()) {
    const std::size_t before = extensions.size();
    std::erase_if(extensions, [](const char* name) { return std::strcmp(name, kSubset) == 0; });
    if (extensions.size() == before) return VK_ERROR_INITIALIZATION_FAILED;
    passed.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    passed.ppEnabledExtensionNames = extensions.data();
  }
  auto* link = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  Device device{.next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr};
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkInstance instance = VK_NULL_HANDLE;
  {
    const std::lock_guard lock(g_mutex);
    instance = g_instances.at(key_of(physical)).handle;
  }
  const auto create = reinterpret_cast<PFN_vkCreateDevice>(next_of_instance(instance, "vkCreateDevice"));
  const VkResult result = create(physical, &passed, allocator, created);
  if (result != VK_SUCCESS) return result;
  device.handle = *created;
  device.DestroyDevice = reinterpret_cast<PFN_vkDestroyDevice>(device.next(*created, "vkDestroyDevice"));
#define LOAD(name, parameters, arguments) device.name = reinterpret_cast<PFN_vk##name>(device.next(*created, "vk" #name));
  FAULT_FUNCTIONS(LOAD)
  WORKING_FUNCTIONS(LOAD)
#undef LOAD
  const std::lock_guard lock(g_mutex);
  g_devices[key_of(*created)] = device;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL fault_DestroyDevice(VkDevice handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  const Device device = device_of(handle);
  {
    const std::lock_guard lock(g_mutex);
    g_devices.erase(key_of(handle));
  }
  device.DestroyDevice(handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL fault_EnumerateDeviceExtensionProperties(VkPhysicalDevice physical, const char* layer,
                                                                        std::uint32_t* count,
                                                                        VkExtensionProperties* properties) {
  Instance instance;
  {
    const std::lock_guard lock(g_mutex);
    instance = g_instances.at(key_of(physical));
  }
  if (!pretends_subset()) return instance.extensions(physical, layer, count, properties);
  std::uint32_t real = 0;
  instance.extensions(physical, layer, &real, nullptr);
  std::vector<VkExtensionProperties> all(real);
  instance.extensions(physical, layer, &real, all.data());
  VkExtensionProperties& subset = all.emplace_back();
  std::strncpy(subset.extensionName, kSubset, sizeof(subset.extensionName) - 1);
  if (properties == nullptr) {
    *count = static_cast<std::uint32_t>(all.size());
    return VK_SUCCESS;
  }
  const bool is_short = *count < all.size();
  *count = std::min(*count, static_cast<std::uint32_t>(all.size()));
  std::copy_n(all.begin(), *count, properties);
  return is_short ? VK_INCOMPLETE : VK_SUCCESS;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_GetDeviceProcAddr(VkDevice handle, const char* name);

PFN_vkVoidFunction own_device_function(const char* name) {
#define FIND(function, parameters, arguments) \
  if (std::strcmp(name, "vk" #function) == 0) return reinterpret_cast<PFN_vkVoidFunction>(&fault_##function);
  FAULT_FUNCTIONS(FIND)
  WORKING_FUNCTIONS(FIND)
#undef FIND
  if (std::strcmp(name, "vkDestroyDevice") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&fault_DestroyDevice);
  if (std::strcmp(name, "vkGetDeviceProcAddr") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&fault_GetDeviceProcAddr);
  return nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_GetDeviceProcAddr(VkDevice handle, const char* name) {
  const Device& device = device_of(handle);
  const PFN_vkVoidFunction next = device.next(handle, name);
  const PFN_vkVoidFunction own = own_device_function(name);
  return next != nullptr && own != nullptr ? own : next;  // functions that the device lacks stay missing
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_GetInstanceProcAddr(VkInstance handle, const char* name) {
  if (std::strcmp(name, "vkGetInstanceProcAddr") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&fault_GetInstanceProcAddr);
  if (std::strcmp(name, "vkCreateInstance") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&fault_CreateInstance);
  if (std::strcmp(name, "vkCreateDevice") == 0) return reinterpret_cast<PFN_vkVoidFunction>(&fault_CreateDevice);
  if (std::strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0)
    return reinterpret_cast<PFN_vkVoidFunction>(&fault_EnumerateDeviceExtensionProperties);
  if (const PFN_vkVoidFunction own = own_device_function(name)) return own;
  if (handle == VK_NULL_HANDLE) return nullptr;
  const std::lock_guard lock(g_mutex);
  return g_instances.at(key_of(handle)).next(handle, name);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* negotiated) {
  negotiated->loaderLayerInterfaceVersion = std::min(negotiated->loaderLayerInterfaceVersion, 2U);
  negotiated->pfnGetInstanceProcAddr = &fault_GetInstanceProcAddr;
  negotiated->pfnGetDeviceProcAddr = &fault_GetDeviceProcAddr;
  negotiated->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
