#pragma once

// Sees Vulkan-Hpp, like gpu/handles.h: included only where an instance is created.
#include <mutex>

#include <vulkan/vulkan_raii.hpp>

namespace headlight::gpu {

/// Collects what the validation layer says; the driver may call it from any thread.
struct ValidationLog {
  std::mutex mutex;
  std::vector<std::string> messages;  ///< the first 100
  std::uint32_t count = 0;
};

/// Is the validation layer asked for, by an option or by HEADLIGHT_VALIDATION=1 in the environment?
bool is_validation_wanted(bool is_option_set);

/// An instance that also lists devices whose drivers translate Vulkan to something else (MoltenVK), with these extensions;
/// with Khronos' validation layer where `validates`, synchronisation checks included where the layer has them: a software
/// device runs commands in order whether or not there are barriers, so only these checks notice a missing one. Throws Error
/// when the layer isn't installed.
vk::raii::Instance make_instance(const vk::raii::Context& loader, bool validates = false,
                                 std::vector<const char*> extensions = {});

/// Collects the messages of such an instance's validation layer while the messenger exists.
vk::raii::DebugUtilsMessengerEXT collect_messages(const vk::raii::Instance& instance, ValidationLog& log);

/// Is it the device that the user wants, by its number or by a part of its name? Empty: any.
bool is_wanted(const std::string& wanted, std::size_t index, const std::string& name);

}  // namespace headlight::gpu

namespace headlight::gpu {

/// A function of the Vulkan loader's library by its name; the library stays loaded. Throws Error where there is none: what
/// calls this has opened a device before, or says itself what is missing. Any thread.
void (*vulkan_function(const char* name))();

}  // namespace headlight::gpu
