#include "core/staged_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStaged = ".staged";

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  throw Error("can't write {}: {}; choose another folder or free some space", path.string(), std::strerror(error));
}

/// Libraries append to the staged name what they write first.
void remove_old(const fs::path& path) {
  constexpr std::time_t kOld_s = 3600;
  const std::string begin = path.filename().string() + ".";
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || name.find(kStaged, begin.size()) == std::string::npos) continue;
    struct stat status {};
    const bool is_old = ::lstat(entry->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                        std::time(nullptr) - status.st_mtime > kOld_s;
    if (is_old) ::unlink(entry->path().c_str());
  }
}

/// Returns errno of a file or folder that can't be synced; 0: it is on the disk, or its file system doesn't support that.
int sync(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return errno;
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(descriptor);
  return error;
}

}  // namespace

StagedPath::StagedPath(fs::path path) : path_(std::move(path)) {
  remove_old(path_);
  std::random_device random;
  const std::uint64_t number = std::uint64_t{random()} << 32 | random();
  temporary_ = path_;
  temporary_ += fmt::format(".{:016x}{}", number, kStaged);
}

StagedPath::~StagedPath() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void StagedPath::finish() {
  if (const int error = sync(temporary_, 0); error != 0) fail_to_write(path_, error);
  std::error_code error;
  fs::rename(temporary_, path_, error);
  if (error) fail_to_write(path_, error.value());
  temporary_.clear();
  sync(path_.has_parent_path() ? path_.parent_path() : fs::path("."), O_DIRECTORY);
}

}  // namespace headlight
