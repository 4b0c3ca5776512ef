#include "gpu/instance.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "gpu/driver_advice.h"
#include "platform/library.h"
#include "platform/memory.h"

namespace headlight::gpu {

namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";
constexpr vk::ValidationFeatureEnableEXT kSynchronization = vk::ValidationFeatureEnableEXT::eSynchronizationValidation;
constexpr std::size_t kKeptMessages = 100;

bool has_extension(const std::vector<vk::ExtensionProperties>& available, std::string_view name) {
  return std::ranges::any_of(
      available, [&](const vk::ExtensionProperties& extension) { return name == extension.extensionName.data(); });
}

/// Takes C's types or Vulkan-Hpp's: which of them pfnUserCallback has depends on the headers' version.
constexpr auto on_validation_message = [](auto /*severity*/, auto /*types*/, const auto* data, void* user) -> VkBool32 {
  auto& log = *static_cast<ValidationLog*>(user);
  const std::lock_guard lock(log.mutex);
  ++log.count;
  if (log.messages.size() < kKeptMessages) log.messages.emplace_back(data->pMessage);
  return VK_FALSE;
};

/// Throws Error where the address space has no room for a driver. llvmpipe ends the program when memory is missing while
/// it compiles, so a program with a limit of its address space asks first: 600 MiB were measured for an export with two
/// threads of llvmpipe's (Mesa 22), and each further thread has a stack and a heap.
void expect_memory() {
  const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  const std::size_t needed_mib = 512 + 64 * threads;
  if (platform::has_address_space(needed_mib << 20)) return;
  throw Error("no memory to load Vulkan drivers: {} MiB of address space are needed; raise the limit (ulimit -v)",
              needed_mib);
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

bool is_validation_wanted(bool is_option_set) {
  const char* variable = std::getenv("HEADLIGHT_VALIDATION");
  return is_option_set || (variable != nullptr && std::string_view(variable) == "1");
}

vk::raii::Instance make_instance(const vk::raii::Context& loader, bool validates, std::vector<const char*> extensions) {
  expect_memory();
  std::vector<const char*> layers;
  vk::ValidationFeaturesEXT features;
  if (validates) {
    const bool is_installed = std::ranges::any_of(
        loader.enumerateInstanceLayerProperties(),
        [](const vk::LayerProperties& layer) { return std::string_view(layer.layerName.data()) == kLayer; });
    if (!is_installed)
      throw Error("validation was asked for but {} is not installed (Debian: vulkan-validationlayers)", kLayer);
    layers.push_back(kLayer);
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    if (has_extension(loader.enumerateInstanceExtensionProperties(std::string(kLayer)),
                      VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
      extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
      features.enabledValidationFeatureCount = 1;
      features.pEnabledValidationFeatures = &kSynchronization;
    }
  }
  vk::InstanceCreateFlags flags;
  if (has_extension(loader.enumerateInstanceExtensionProperties(), VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    flags |= vk::InstanceCreateFlagBits::eEnumeratePortabilityKHR;
  }
  const vk::ApplicationInfo application{.pApplicationName = "headlight", .apiVersion = VK_API_VERSION_1_1};
  return {loader, vk::InstanceCreateInfo{.pNext = features.enabledValidationFeatureCount > 0 ? &features : nullptr,
                                         .flags = flags,
                                         .pApplicationInfo = &application,
                                         .enabledLayerCount = static_cast<std::uint32_t>(layers.size()),
                                         .ppEnabledLayerNames = layers.data(),
                                         .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                         .ppEnabledExtensionNames = extensions.data()}};
}

vk::raii::DebugUtilsMessengerEXT collect_messages(const vk::raii::Instance& instance, ValidationLog& log) {
  using Severity = vk::DebugUtilsMessageSeverityFlagBitsEXT;
  using Type = vk::DebugUtilsMessageTypeFlagBitsEXT;
  return {instance, vk::DebugUtilsMessengerCreateInfoEXT{.messageSeverity = Severity::eWarning | Severity::eError,
                                                         .messageType = Type::eValidation | Type::ePerformance,
                                                         .pfnUserCallback = on_validation_message,
                                                         .pUserData = &log}};
}

bool is_wanted(const std::string& wanted, std::size_t index, const std::string& name) {
  if (wanted.empty()) return true;
  const bool is_number = std::ranges::all_of(wanted, [](unsigned char c) { return std::isdigit(c) != 0; });
  return is_number ? std::to_string(index) == wanted : lower(name).find(lower(wanted)) != std::string::npos;
}

void (*vulkan_function(const char* name))() {
  void (*function)() = platform::library_function("libvulkan.so.1", name);
  if (function == nullptr) throw Error(ErrorKind::NoDevice, "no Vulkan loader with {}: {}", name, driver_advice());
  return function;
}

}  // namespace headlight::gpu
