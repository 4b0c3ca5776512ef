#pragma once

#include "app/sidebar/model_panel.h"
#include "gpu/device_info.h"

namespace headlight::app {

/// What menus list and what is slow to find out: asked for once, when a menu is first opened.
class MenuCatalog {
 public:
  /// Every notebook with its title; one that can't be built says why in its summary.
  const std::vector<PresetInfo>& presets();
  /// nullptr when there is no such notebook.
  const PresetInfo* preset(const std::string& name);
  const std::vector<gpu::DeviceInfo>& devices();
  /// Path of a bundled model; nothing where this installation lacks it.
  const std::optional<std::string>& bundled_model(std::string_view name);

 private:
  std::vector<PresetInfo> presets_;
  std::optional<std::vector<gpu::DeviceInfo>> devices_;
  std::map<std::string, std::optional<std::string>, std::less<>> bundled_;
};

}  // namespace headlight::app
