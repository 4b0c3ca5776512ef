#include "app/models/bundled_models.h"

#include <system_error>

#include "core/error.h"
#include "inference/language_model.h"

namespace headlight::app {

namespace fs = std::filesystem;

std::vector<fs::path> bundled_folders() {
  std::vector<fs::path> folders;
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const fs::path folder = program.parent_path();
    folders = {folder / "../share/headlight/models", folder / "assets/models", folder / "../assets/models",
               folder / "../../assets/models"};
  }
  folders.emplace_back(HEADLIGHT_ASSETS_DIR "/models");
  return folders;
}

std::optional<fs::path> find_bundled_model(std::string_view name) {
  for (const fs::path& folder : bundled_folders()) {
    const fs::path path = folder / name;
    std::error_code failure;
    if (!fs::is_regular_file(path / "config.json", failure)) continue;
    const fs::path real = fs::weakly_canonical(path, failure);
    return failure ? path : real;
  }
  return std::nullopt;
}

std::string named_model(const std::string& name) {
  std::error_code failure;
  if (name.empty() || fs::exists(name, failure)) return name;
  const std::optional<fs::path> bundled = find_bundled_model(name);
  return bundled ? bundled->string() : name;
}

fs::path chosen_model(const std::string& given, std::string_view bundled) {
  if (!given.empty()) return fs::absolute(inference::find_model(given)).lexically_normal();
  if (const std::optional<fs::path> found = find_bundled_model(bundled)) return *found;
  throw Error("this installation lacks the model {}: name another one with --model", bundled);
}

}  // namespace headlight::app
