#pragma once

// The only header of the shell that includes Vulkan-Hpp; no panel includes it, because it takes seconds to compile.
#include <utility>

#include "app/shell/render_device.h"
#include "core/sleep_watch.h"
#include "gpu/instance.h"

namespace headlight::shell {

struct RenderDevice::Handles {
  gpu::ValidationLog validation;
  bool has_validation = false;
  bool has_surfaces = false;      ///< there is a display that windows can be on
  bool can_present = false;       ///< the device has VK_KHR_swapchain
  std::shared_ptr<void> display;  ///< the connection with it, of a device that shows windows: once closed, an X server that
                                  ///< was started for this program ends
  std::string name;

  vk::raii::Context loader;
  vk::raii::Instance instance = nullptr;
  vk::raii::DebugUtilsMessengerEXT messenger = nullptr;
  vk::raii::PhysicalDevice physical = nullptr;
  vk::raii::Device device = nullptr;
  vk::raii::Queue queue = nullptr;
  vk::raii::CommandPool command_pool = nullptr;
  std::uint32_t queue_family = 0;
  vk::PhysicalDeviceMemoryProperties memory;
  std::uint32_t most_texels = 0;  ///< of a texel buffer
  int largest_image = 0;          ///< pixels of its side
  bool loses_memory_asleep = false;
  SleepWatch sleep;  ///< since the device was opened

  /// Throws the Error, of kind DeviceLost or OutOfDeviceMemory if it applies, that says what Vulkan reported.
  [[noreturn]] void fail(vk::Result result) const;

  /// Calls `work` and converts Vulkan's exceptions to an Error in one line.
  template <typename Work>
  decltype(auto) guarded(Work&& work) const {
    try {
      return std::forward<Work>(work)();
    } catch (const vk::SystemError& error) {
      fail(static_cast<vk::Result>(error.code().value()));
    }
  }

  /// Waits until the device is idle, before its resources are freed. A device on which waiting fails counts as lost.
  void wait_until_idle() const noexcept;

  /// Records with `record(vk::CommandBuffer)`, submits and waits: for one-time work.
  template <typename Record>
  void run_once(Record&& record) {
    auto commands = vk::raii::CommandBuffers(device, {.commandPool = *command_pool, .commandBufferCount = 1});
    commands[0].begin({.flags = vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
    record(*commands[0]);
    commands[0].end();
    const vk::raii::Fence done(device, vk::FenceCreateInfo{});
    queue.submit(vk::SubmitInfo{.commandBufferCount = 1, .pCommandBuffers = &*commands[0]}, *done);
    try {
      static_cast<void>(device.waitForFences(*done, VK_TRUE, UINT64_MAX));
    } catch (const vk::SystemError&) {
      wait_until_idle();
      throw;
    }
  }
};

/// A buffer in host-visible, coherent memory, mapped for its lifetime.
struct MappedBuffer {
  MappedBuffer() = default;
  /// Makes the buffer. `preferred` are optional properties besides visible and coherent (cached for reading back). If a heap
  /// is full, the buffer is in the next one that the host can reach.
  MappedBuffer(const RenderDevice::Handles& handles, std::size_t bytes, vk::BufferUsageFlags usage,
               vk::MemoryPropertyFlags preferred = {});

  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::Buffer buffer = nullptr;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// Allocates memory with all `required` properties and, where the heaps have room, the `preferred` ones. Throws Error when
/// there is no such memory, vk::OutOfDeviceMemoryError when all heaps of it are full.
vk::raii::DeviceMemory allocate_memory(const RenderDevice::Handles& handles, const vk::MemoryRequirements& needs,
                                       vk::MemoryPropertyFlags required, vk::MemoryPropertyFlags preferred = {});

}  // namespace headlight::shell
