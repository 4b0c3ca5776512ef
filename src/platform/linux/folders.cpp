#include "platform/folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "platform/linux/last_error.h"

namespace headlight::platform {

namespace fs = std::filesystem;

std::optional<fs::path> path_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? std::optional<fs::path>(value) : std::nullopt;
}

fs::path home_folder() { return path_variable("HOME").value_or(fs::path()); }

/// Follows the XDG Base Directory Specification, which has programs ignore relative paths.
fs::path user_folder(UserFolder which, std::string& trouble) {
  struct Place {
    const char *variable, *below_home;
  };
  constexpr std::array<Place, 3> kPlaces = {
      {{"XDG_CONFIG_HOME", ".config"}, {"XDG_CACHE_HOME", ".cache"}, {"XDG_STATE_HOME", ".local/state"}}};
  const auto& [variable, below_home] = kPlaces[static_cast<std::size_t>(which)];
  if (std::optional<fs::path> folder = path_variable(variable); folder && folder->is_absolute()) return *std::move(folder);
  const fs::path home = home_folder();
  if (!home.empty()) return home / below_home;
  trouble = std::string("neither ") + variable + " nor HOME is set";
  return {};
}

fs::path meeting_folder() {
  const std::optional<fs::path> runtime = path_variable("XDG_RUNTIME_DIR");
  return runtime && runtime->is_absolute() ? *runtime / "headlight"
                                           : fs::path("/tmp/headlight-" + std::to_string(::geteuid()));
}

void make_private_folder(const fs::path& folder, std::error_code& error) {
  constexpr mode_t kOwnerOnly = 0700, kOthers = 0077;
  struct stat found = {};
  if ((::mkdir(folder.c_str(), kOwnerOnly) != 0 && errno != EEXIST) || ::lstat(folder.c_str(), &found) != 0) {
    error = last_error();
  } else if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & kOthers) != 0) {
    error = std::make_error_code(std::errc::permission_denied);
  }
}

fs::path program_file() {
  std::error_code failure;
  return fs::read_symlink("/proc/self/exe", failure);
}

}  // namespace headlight::platform
