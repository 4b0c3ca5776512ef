#include "app/window/menu_catalog.h"

#include <exception>

#include "app/models/bundled_models.h"
#include "inference/notebooks.h"

namespace headlight::app {

const std::vector<PresetInfo>& MenuCatalog::presets() {
  if (!presets_.empty()) return presets_;
  for (const std::string_view name : inference::notebook_names()) {
    try {
      inference::Notebook notebook = inference::make_notebook(name);
      presets_.push_back(
          {.name = std::string(name), .title = std::move(notebook.title), .summary = std::move(notebook.summary)});
    } catch (const std::exception& error) {
      presets_.push_back({.name = std::string(name), .title = std::string(name), .summary = error.what()});
    }
  }
  return presets_;
}

const PresetInfo* MenuCatalog::preset(const std::string& name) {
  if (name.empty()) return nullptr;
  const auto found = std::ranges::find(presets(), name, &PresetInfo::name);
  return found == presets_.end() ? nullptr : &*found;
}

const std::vector<gpu::DeviceInfo>& MenuCatalog::devices() {
  if (devices_) return *devices_;
  try {
    devices_ = gpu::list_devices();
  } catch (const std::exception&) {
    devices_.emplace();  // the menu says that there is none
  }
  return *devices_;
}

const std::optional<std::string>& MenuCatalog::bundled_model(std::string_view name) {
  const auto known = bundled_.find(name);
  if (known != bundled_.end()) return known->second;
  const std::optional<std::filesystem::path> path = find_bundled_model(name);
  return bundled_.emplace(name, path ? std::optional(path->string()) : std::nullopt).first->second;
}

}  // namespace headlight::app
