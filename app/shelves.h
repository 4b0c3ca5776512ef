#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/device_info.h"
#include "panels/model_panel.h"

namespace headlight::app {

/// What menus list and what is slow to find out: asked for once, when somebody first looks.
class Shelves {
 public:
  /// Every notebook with its title; one that can't be built says why in its summary.
  const std::vector<PresetInfo>& presets();
  /// nullptr when there is no such notebook.
  const PresetInfo* preset(const std::string& name);
  const std::vector<gpu::DeviceInfo>& devices();

 private:
  std::vector<PresetInfo> presets_;
  std::optional<std::vector<gpu::DeviceInfo>> devices_;
};

}  // namespace headlight::app
