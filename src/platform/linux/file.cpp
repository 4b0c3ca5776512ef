#include "platform/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "platform/linux/last_error.h"

namespace headlight::platform {
namespace {

constexpr mode_t kAllUsers = 0666, kOwnerOnly = 0600;  // minus the umask

FileStamp stamp(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .written_ns = std::int64_t{status.st_mtim.tv_sec} * kNanoseconds + status.st_mtim.tv_nsec,
          .kind = S_ISREG(status.st_mode)   ? FileKind::Regular
                  : S_ISDIR(status.st_mode) ? FileKind::Folder
                                            : FileKind::Other};
}

Descriptor open_file(const char* path, int flags, mode_t mode, std::error_code& error) {
  Descriptor file(::open(path, flags | O_CLOEXEC, mode));
  if (!file) error = last_error();
  return file;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::optional(stamp(status)) : std::nullopt;
}

std::optional<FileStamp> stamp_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? std::optional(stamp(status)) : std::nullopt;
}

Descriptor open_to_read(const std::filesystem::path& path, std::error_code& error) {
  // Without O_NONBLOCK, opening a pipe without a writer would block.
  return open_file(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, error);
}

std::size_t read_some(int descriptor, char* to, std::size_t most, std::error_code& error) {
  while (true) {
    const ssize_t bytes = ::read(descriptor, to, most);
    if (bytes >= 0) return static_cast<std::size_t>(bytes);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&input, 1, -1));
    } else if (errno != EINTR) {
      error = last_error();
      return 0;
    }
  }
}

std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, std::error_code& error) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t bytes = ::pread(descriptor, to + done, count - done, static_cast<off_t>(offset + done));
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) error = last_error();
    if (bytes <= 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  return done;
}

bool has_input(int descriptor) {
  pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) > 0;
}

bool has_more(int descriptor) {
  const std::optional<FileStamp> stamp = stamp_of(descriptor);
  return stamp && stamp->kind == FileKind::Regular && ::lseek(descriptor, 0, SEEK_CUR) < static_cast<off_t>(stamp->bytes);
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

Descriptor create_file(const std::filesystem::path& path, std::error_code& error) {
  return open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kAllUsers, error);
}

Descriptor create_nameless(const std::filesystem::path& folder) {
#ifdef O_TMPFILE
  std::error_code ignored;
  // linkat() names the file by its path there.
  if (::access("/proc/self/fd", X_OK) == 0) return open_file(folder.c_str(), O_TMPFILE | O_WRONLY, kAllUsers, ignored);
#endif
  return {};
}

std::error_code give_name(int nameless, const std::filesystem::path& path) {
  const std::string source = "/proc/self/fd/" + std::to_string(nameless);
  const int result = ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW);
  return result == 0 ? std::error_code() : last_error();
}

std::error_code replace_file(const std::filesystem::path& by, const std::filesystem::path& path,
                             const std::filesystem::path& /*aside*/) {
  return ::rename(by.c_str(), path.c_str()) == 0 ? std::error_code() : last_error();
}

Descriptor create_scratch(const std::filesystem::path& folder, std::error_code& error) {
  std::string pattern = (folder / "scratch-XXXXXX").native();
  Descriptor file(::mkostemp(pattern.data(), O_CLOEXEC));
  if (file) {
    ::unlink(pattern.c_str());
  } else {
    error = last_error();
  }
  return file;
}

std::error_code write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return last_error();
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

std::error_code write_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  return count == static_cast<ssize_t>(bytes.size()) ? std::error_code() : last_error();
}

std::error_code sync_file(int descriptor) {
  // Pipes and some network file systems don't support fsync().
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? std::error_code() : last_error();
}

std::error_code sync_file(const std::filesystem::path& path) {
  std::error_code error;
  const Descriptor file = open_file(path.c_str(), O_RDONLY, 0, error);
  return file ? sync_file(file.number()) : error;
}

void sync_folder(const std::filesystem::path& folder) { static_cast<void>(sync_file(folder)); }

Descriptor lock_file(const std::filesystem::path& path, bool is_new, std::error_code& error) {
  Descriptor file = open_file(path.c_str(), O_RDWR | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0), kOwnerOnly, error);
  if (!file || ::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return file;
  error = last_error();
  return {};
}

}  // namespace headlight::platform
