#pragma once

// Sees Vulkan-Hpp, like gpu/handles.h: included only where an instance is created.
#include <vector>

#include <vulkan/vulkan_raii.hpp>

namespace headlight::gpu {

/// Khronos' validation layer as an instance asks for it, synchronisation checks included where the layer has them: a
/// software device runs commands in order whether or not there are barriers, so only these checks notice a missing one.
class ValidationLayer {
 public:
  /// Throws Error when the layer isn't installed.
  explicit ValidationLayer(const vk::raii::Context& loader);
  ValidationLayer(const ValidationLayer&) = delete;
  ValidationLayer& operator=(const ValidationLayer&) = delete;

  static constexpr const char* kName = "VK_LAYER_KHRONOS_validation";

  /// Extensions that the instance enables, debug messages among them.
  const std::vector<const char*>& extensions() const { return extensions_; }
  /// For vk::InstanceCreateInfo::pNext while this object lives.
  const void* next() const { return next_; }

 private:
  std::vector<const char*> extensions_;
  const void* next_ = nullptr;
  vk::ValidationFeaturesEXT features_;
};

}  // namespace headlight::gpu
