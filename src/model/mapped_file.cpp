#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/lfs_pointer.h"
#include "model/mapped_addresses.h"

namespace headlight::model {
MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // Opening a pipe could block forever, so the type is checked first.
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error("can't open {}: it is not a file", path_.string());
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  try {
    const std::optional<FileStamp> stamp = stamp_of(descriptor_);
    if (!stamp) throw Error("can't read {}: {}", path_.string(), std::strerror(errno));
    if (stamp->bytes == 0) throw Error("{} is empty: download it again", path_.string());
    stamp_ = *stamp;
    map(stamp_.bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

void MappedFile::map(std::size_t size) {
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED) throw Error("can't map {} into memory: {}", path_.string(), std::strerror(errno));
  // Far read-ahead when the file isn't in memory yet. Not MADV_WILLNEED: the caller may need only the header.
  ::madvise(address, size, MADV_SEQUENTIAL);
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
  guard_.emplace(bytes_);
  try {
    refuse_lfs_pointer({static_cast<const char*>(address), size}, path_);
  } catch (...) {
    guard_.reset();
    ::munmap(address, size);
    throw;
  }
  add_mapped_address(path_, bytes_);
}

void MappedFile::expect_intact() const {
  const std::optional<FileStamp> now = stamp_of(descriptor_);
  if (now && now->bytes < bytes_.size()) {
    throw Error(ErrorKind::InvalidInput, "{} was cut short while it was in use: restore it and open the model again",
                path_.string());
  }
  if (!now || read_error_ != 0 || guard_->is_damaged()) {
    throw Error(ErrorKind::InvalidInput, "can't read {}: {}; open it again", path_.string(),
                std::strerror(read_error_ != 0 ? read_error_.load() : EIO));
  }
  if (*now != stamp_)
    throw Error(ErrorKind::InvalidInput, "{} was written to while it was in use: open it again", path_.string());
}

void MappedFile::copy(std::span<const std::byte> part, std::byte* to) const {
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  for (std::size_t done = 0; done < part.size();) {
    const ssize_t count = ::pread(descriptor_, to + done, part.size() - done, static_cast<off_t>(begin + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count < 0) read_error_ = errno;
      std::memset(to + done, 0, part.size() - done);
      return;
    }
    done += static_cast<std::size_t>(count);
  }
}

void MappedFile::release(std::span<const std::byte> part) const {
  // The pages that are all of the part.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(part.data()) % page) % page;
  if (part.size() <= before) return;
  madvise(const_cast<std::byte*>(part.data() + before), (part.size() - before) / page * page, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  remove_mapped_address(bytes_);
  guard_.reset();
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

}  // namespace headlight::model
