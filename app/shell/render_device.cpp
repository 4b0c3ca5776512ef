#include "app/shell/render_device.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/ranges.h>

#include "app/shell/vulkan_handles.h"
#include "app/shell/window_impl.h"
#include "core/error.h"
#include "gpu/driver_advice.h"
#include "platform/display.h"

namespace headlight::shell {
namespace {

constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";  // headers without beta extensions lack its name
constexpr std::uint32_t kMinTexels = 65'536;                             // of a texel buffer, on every Vulkan device
// Dear ImGui's vertices and the image of its letters while it is uploaded: 8 MiB at 1600 × 1000, 64 MiB at 2880 × 1800 and
// twice the size, rounded up to powers of two.
constexpr vk::DeviceSize kMinImGuiHeap = vk::DeviceSize{64} << 20;

using Handles = RenderDevice::Handles;

template <typename Properties>
bool has_extension(const Properties& available, std::string_view name) {
  return std::any_of(available.begin(), available.end(),
                     [&](const auto& extension) { return name == extension.extensionName.data(); });
}

void create_instance(Handles& handles) {
  std::vector<const char*> extensions;
  const auto available = handles.loader.enumerateInstanceExtensionProperties();
  for (const char* name : platform::surface_extensions()) {
    if (!has_extension(available, name)) continue;
    if (extensions.empty()) extensions.push_back(VK_KHR_SURFACE_EXTENSION_NAME);
    extensions.push_back(name);
  }
  handles.has_surfaces = !extensions.empty();
  handles.instance = gpu::make_instance(handles.loader, handles.has_validation, std::move(extensions));
  if (handles.has_validation) handles.messenger = gpu::collect_messages(handles.instance, handles.validation);
}

/// A device as far as it can draw the window.
struct Renderer {
  std::size_t index = 0;  ///< of the loader's list
  std::string name;       ///< "1: llvmpipe (…)"
  bool is_cpu = false;
  std::optional<std::uint32_t> family = {};  ///< of queues that draw, and show windows where that is wanted; none: it can't
  std::string lack = {};                     ///< why it can't, where that is known
};

/// Returns why memory lacks for Dear ImGui's backend, a part of the distribution's library, which takes the first type that
/// the host can reach, whatever the size of its heap. Empty: that one is large enough.
std::string lack_of_memory(const vk::PhysicalDeviceMemoryProperties& memory) {
  const std::span types(memory.memoryTypes.data(), memory.memoryTypeCount);
  const auto first = std::ranges::find_if(types, [](const vk::MemoryType& type) {
    return static_cast<bool>(type.propertyFlags & vk::MemoryPropertyFlagBits::eHostVisible);
  });
  const vk::DeviceSize bytes = first == types.end() ? 0 : memory.memoryHeaps[first->heapIndex].size;
  if (bytes >= kMinImGuiHeap) return "";
  return fmt::format("Dear ImGui uses the first memory that the host can reach, and {} MiB are less than {}", bytes >> 20,
                     kMinImGuiHeap >> 20);
}

/// Can its swapchain show images on the surface?
bool can_show(const vk::raii::PhysicalDevice& physical, std::uint32_t family, vk::SurfaceKHR surface) {
  try {
    return has_extension(physical.enumerateDeviceExtensionProperties(), VK_KHR_SWAPCHAIN_EXTENSION_NAME) &&
           physical.getSurfaceSupportKHR(family, surface) == VK_TRUE && !physical.getSurfaceFormatsKHR(surface).empty() &&
           (physical.getSurfaceCapabilitiesKHR(surface).supportedUsageFlags & vk::ImageUsageFlagBits::eTransferDst);
  } catch (const vk::SystemError&) {  // drivers fail to answer for displays of other GPUs
    return false;
  }
}

/// Describes the renderer. `surface`: null where no window is to be shown.
Renderer describe_renderer(std::size_t index, const vk::raii::PhysicalDevice& physical, vk::SurfaceKHR surface) {
  const vk::PhysicalDeviceProperties properties = physical.getProperties();
  Renderer renderer{.index = index,
                    .name = fmt::format("{}: {}", index, properties.deviceName.data()),
                    .is_cpu = properties.deviceType == vk::PhysicalDeviceType::eCpu};
  const auto families = physical.getQueueFamilyProperties();
  for (std::uint32_t family = 0; family < families.size() && !renderer.family; ++family) {
    if (!(families[family].queueFlags & vk::QueueFlagBits::eGraphics)) continue;
    if (!surface || can_show(physical, family, surface)) renderer.family = family;
  }
  if (renderer.family) renderer.lack = lack_of_memory(physical.getMemoryProperties());
  if (!renderer.lack.empty()) renderer.family.reset();
  return renderer;
}

/// Returns the devices to try, best first: GPUs, then processors. Throws Error listing those there are.
std::vector<Renderer> choose(const std::vector<Renderer>& all, const std::string& wanted, bool shows_windows) {
  if (all.empty()) throw Error(ErrorKind::NoDevice, "no Vulkan device to draw with: {}", gpu::driver_advice());
  const auto is_match = [&](const Renderer& one) { return gpu::is_wanted(wanted, one.index, one.name); };
  std::vector<std::string> names, able;
  std::vector<Renderer> chosen;
  for (const Renderer& one : all) {
    names.push_back(one.lack.empty() ? one.name : fmt::format("{}: {}", one.name, one.lack));
    if (one.family) able.push_back(one.name);
    if (one.family && is_match(one)) chosen.push_back(one);
  }
  std::ranges::stable_sort(chosen, {}, &Renderer::is_cpu);
  if (!chosen.empty()) return chosen;
  const std::string_view task = shows_windows ? "show a window on this display" : "draw";
  if (able.empty()) {
    throw Error("no Vulkan device can {} (there are {}): {}{}", task, fmt::join(names, "; "), gpu::driver_advice(),
                shows_windows ? "; `headlight screenshot` and `headlight export` need no display" : "");
  }
  const auto match = std::ranges::find_if(all, is_match);
  if (match == all.end()) {
    throw Error("there is no Vulkan device '{}' to draw with; choose by number or name among {}", wanted,
                fmt::join(names, "; "));
  }
  throw Error("the device '{}' can't {}{}{}; choose by number or name among {}", match->name, task,
              match->lack.empty() ? "" : ": ", match->lack, fmt::join(able, "; "));
}

void create_device(Handles& handles, vk::raii::PhysicalDevice&& physical, std::uint32_t family) {
  handles.physical = std::move(physical);
  const vk::PhysicalDeviceProperties properties = handles.physical.getProperties();
  handles.name = properties.deviceName.data();
  handles.sleep = SleepWatch();
  handles.loses_memory_asleep = properties.deviceType != vk::PhysicalDeviceType::eCpu &&
                                properties.deviceType != vk::PhysicalDeviceType::eIntegratedGpu;
  handles.most_texels = properties.limits.maxTexelBufferElements;
  handles.largest_image = static_cast<int>(properties.limits.maxImageDimension2D);
  handles.memory = handles.physical.getMemoryProperties();
  handles.queue_family = family;
  const auto available = handles.physical.enumerateDeviceExtensionProperties();
  handles.can_present = handles.has_surfaces && has_extension(available, VK_KHR_SWAPCHAIN_EXTENSION_NAME);
  std::vector<const char*> extensions;
  if (handles.can_present) extensions.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
  // A device with this extension requires that it is enabled: it lacks features of Vulkan that aren't used here.
  if (has_extension(available, kPortabilitySubset)) extensions.push_back(kPortabilitySubset);
  const float priority = 1.0F;
  const vk::DeviceQueueCreateInfo queue{
      .queueFamilyIndex = handles.queue_family, .queueCount = 1, .pQueuePriorities = &priority};
  handles.device = vk::raii::Device(
      handles.physical, vk::DeviceCreateInfo{.queueCreateInfoCount = 1,
                                             .pQueueCreateInfos = &queue,
                                             .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                                             .ppEnabledExtensionNames = extensions.data()});
  handles.queue = vk::raii::Queue(handles.device, handles.queue_family, 0);
  handles.command_pool = vk::raii::CommandPool(handles.device, {.flags = vk::CommandPoolCreateFlagBits::eResetCommandBuffer,
                                                                .queueFamilyIndex = handles.queue_family});
}

/// Opens the best device that can be opened.
void open_device(Handles& handles, const RenderDeviceOptions& options) {
  std::optional<HiddenWindow> window;
  vk::raii::SurfaceKHR surface = nullptr;
  if (options.shows_windows) surface = window.emplace().surface(handles.instance);
  auto physicals = vk::raii::PhysicalDevices(handles.instance);
  std::vector<Renderer> all;
  for (const auto& physical : physicals) all.push_back(describe_renderer(all.size(), physical, *surface));
  const std::vector<Renderer> chosen = choose(all, options.device, options.shows_windows);
  for (const Renderer& one : chosen) {
    try {
      return create_device(handles, std::move(physicals[one.index]), *one.family);
    } catch (const vk::SystemError&) {
      if (one.index == chosen.back().index) throw;
      handles.device = nullptr;
    }
  }
}

}  // namespace

RenderDevice::RenderDevice(const RenderDeviceOptions& options) : options_(options) { open(); }

void RenderDevice::reopen() {
  Handles& handles = *handles_;
  handles.wait_until_idle();
  handles.command_pool = nullptr;
  handles.queue = nullptr;
  handles.device = nullptr;
  handles.physical = nullptr;
  handles.messenger = nullptr;
  handles.instance = nullptr;
  open();
}

void RenderDevice::open() {
  try {
    if (!handles_) handles_ = std::make_unique<Handles>();
    handles_->has_validation = gpu::is_validation_wanted(options_.validation);
    if (options_.shows_windows && !handles_->display) handles_->display = std::make_shared<GlfwSession>();
    create_instance(*handles_);
    open_device(*handles_, options_);
    if (options_.has_short_texel_buffers) handles_->most_texels = kMinTexels;
  } catch (const vk::IncompatibleDriverError&) {
    throw Error(ErrorKind::NoDevice, "no Vulkan device to draw with: {}", gpu::driver_advice());
  } catch (const vk::SystemError& error) {
    throw Error("the Vulkan device could not be opened for drawing ({}): {}", error.what(), gpu::driver_advice());
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error& error) {  // Vulkan-Hpp throws it when the loader library is missing
    throw Error(ErrorKind::NoDevice, "no Vulkan loader ({}): {}", error.what(), gpu::driver_advice());
  }
}

RenderDevice::~RenderDevice() = default;

void RenderDevice::check_sleep() const {
  const Handles& handles = *handles_;
  if (!handles.loses_memory_asleep || !handles.sleep.has_slept()) return;
  throw Error(ErrorKind::DeviceLost,
              "the device '{}' that draws the window may have lost its memory while the computer was asleep; start again",
              handles.name);
}

void RenderDevice::Handles::fail(vk::Result result) const {
  switch (result) {
    case vk::Result::eErrorDeviceLost:
    case vk::Result::eErrorSurfaceLostKHR:  // recovered like a lost device: everything is opened again
      throw Error(
          ErrorKind::DeviceLost,
          "the device '{}' that draws the window was lost ({}, a driver reset); start again or choose another device", name,
          vk::to_string(result));
    case vk::Result::eErrorOutOfDeviceMemory:
    case vk::Result::eErrorOutOfHostMemory:
    case vk::Result::eErrorOutOfPoolMemory:
    case vk::Result::eErrorFragmentedPool:
    case vk::Result::eErrorMemoryMapFailed:
    case vk::Result::eErrorTooManyObjects:
      throw Error(
          ErrorKind::OutOfDeviceMemory,
          "the device '{}' has no memory left to draw the window ({}); close other programs or make the window smaller",
          name, vk::to_string(result));
    default:
      throw Error("the device '{}' can't draw the window ({}); choose another device or update its driver", name,
                  vk::to_string(result));
  }
}

void RenderDevice::Handles::wait_until_idle() const noexcept {
  if (*device == vk::Device()) return;
  try {
    device.waitIdle();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lost device has nothing left to wait for
  }
}

const std::string& RenderDevice::name() const { return handles_->name; }
bool RenderDevice::has_validation() const { return handles_->has_validation; }

std::vector<std::string> RenderDevice::validation_messages() const {
  const std::lock_guard lock(handles_->validation.mutex);
  return handles_->validation.messages;
}

std::uint32_t RenderDevice::validation_message_count() const {
  const std::lock_guard lock(handles_->validation.mutex);
  return handles_->validation.count;
}

}  // namespace headlight::shell
