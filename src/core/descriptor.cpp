#include "core/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace headlight {
namespace {

[[noreturn]] void fail_to_read(const std::string& name, const char* reason) {
  throw Error("can't read {}: {}", name, reason);
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor open_to_read(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe without a writer would block.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) fail_to_read(path.string(), std::strerror(errno));
  if (S_ISDIR(status.st_mode)) fail_to_read(path.string(), std::strerror(EISDIR));
  if (!S_ISREG(status.st_mode)) fail_to_read(path.string(), "it is a pipe or a device, not a file");
  return file;
}

std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name) {
  while (true) {
    const ssize_t bytes = ::read(descriptor, to, most);
    if (bytes >= 0) return static_cast<std::size_t>(bytes);
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
      static_cast<void>(::poll(&input, 1, -1));
    } else if (errno != EINTR) {
      fail_to_read(name, std::strerror(errno));
    }
  }
}

std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t bytes = ::pread(descriptor, to + done, count - done, static_cast<off_t>(offset + done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) fail_to_read(name, std::strerror(errno));
    if (bytes == 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  return done;
}

}  // namespace headlight
