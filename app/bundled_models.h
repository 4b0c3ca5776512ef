#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace headlight::app {

/// Folders that may hold the models that come with the program: beside it as it is installed, as it stands in its source
/// tree, and the source tree that it was built from.
std::vector<std::filesystem::path> bundled_folders();

/// The bundled model of this name; nothing where this installation lacks it.
std::optional<std::filesystem::path> find_bundled_model(std::string_view name);

}  // namespace headlight::app
