#include "app/link/runtime_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace headlight::app {

namespace fs = std::filesystem;

void make_private_folder(const fs::path& folder) {
  constexpr mode_t kOwnerOnly = 0700, kOthers = 0077;
  if (::mkdir(folder.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    throw Error("{} can't be made: {}", folder.string(), std::strerror(errno));
  }
  struct stat found = {};
  if (::lstat(folder.c_str(), &found) != 0) throw Error("{} can't be read: {}", folder.string(), std::strerror(errno));
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() || (found.st_mode & kOthers) != 0) {
    throw Error("{} has to belong to you and be closed to other users (chmod 700)", folder.string());
  }
}

fs::path link_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  fs::path folder = runtime != nullptr && *runtime == '/' ? fs::path(runtime) / "headlight"
                                                          : fs::path("/tmp") / fmt::format("headlight-{}", ::geteuid());
  make_private_folder(folder);
  return folder;
}

}  // namespace headlight::app
