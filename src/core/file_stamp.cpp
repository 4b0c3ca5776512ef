#include "core/file_stamp.h"

#include <sys/stat.h>

namespace headlight {
namespace {

FileStamp stamp(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .written_ns = std::int64_t{status.st_mtim.tv_sec} * kNanoseconds + status.st_mtim.tv_nsec};
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(stamp(status)) : std::nullopt;
}

std::optional<FileStamp> stamp_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? std::optional(stamp(status)) : std::nullopt;
}

}  // namespace headlight
