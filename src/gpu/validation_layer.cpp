#include "gpu/validation_layer.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/error.h"

namespace headlight::gpu {
namespace {

constexpr vk::ValidationFeatureEnableEXT kSynchronization = vk::ValidationFeatureEnableEXT::eSynchronizationValidation;

}  // namespace

ValidationLayer::ValidationLayer(const vk::raii::Context& loader) {
  const auto layers = loader.enumerateInstanceLayerProperties();
  const bool is_installed = std::any_of(layers.begin(), layers.end(), [](const vk::LayerProperties& layer) {
    return std::string_view(layer.layerName.data()) == kName;
  });
  if (!is_installed)
    throw Error("validation was asked for but {} is not installed (Debian: vulkan-validationlayers)", kName);

  const auto available = loader.enumerateInstanceExtensionProperties(std::string(kName));
  const auto has = [&](std::string_view name) {
    return std::any_of(available.begin(), available.end(),
                       [&](const vk::ExtensionProperties& extension) { return name == extension.extensionName.data(); });
  };
  extensions_.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (has(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME)) {
    extensions_.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    features_.enabledValidationFeatureCount = 1;
    features_.pEnabledValidationFeatures = &kSynchronization;
    next_ = &features_;
  }
}

}  // namespace headlight::gpu
