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
namespace {

/// Closes the descriptor in its destructor; the mapping doesn't need it.
class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) throw Error("can't open {}: {}", path.string(), std::strerror(errno));
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // Opening a pipe could block forever, so the type is checked first.
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error("can't open {}: it is not a file", path_.string());
  const Descriptor descriptor(path_);
  if (::fstat(descriptor.number(), &status) != 0) throw Error("can't read {}: {}", path_.string(), std::strerror(errno));
  if (status.st_size == 0) throw Error("{} is empty: download it again", path_.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.number(), 0);
  if (address == MAP_FAILED) throw Error("can't map {} into memory: {}", path_.string(), std::strerror(errno));
  // Far read-ahead when the file isn't in memory yet. Not MADV_WILLNEED: the caller may need only the header.
  ::madvise(address, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
  device_ = status.st_dev;
  inode_ = status.st_ino;
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

void MappedFile::expect_intact(Check how) const {
  bool is_shorter = guard_->is_damaged();
  struct stat status {};
  if (how == Check::Size && ::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    is_shorter = is_shorter || static_cast<std::uint64_t>(status.st_size) < bytes_.size();
  }
  if (is_shorter) {
    throw Error("{} was cut short while it was in use: restore it and open the model again", path_.string());
  }
}

void MappedFile::fetch(std::span<const std::byte> part) const {
#ifdef MADV_POPULATE_READ
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size());
  // Older systems refuse it, and of a shorter file it fails where a read would be answered by the guard.
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
#else
  static_cast<void>(part);
#endif
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size()) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  remove_mapped_address(bytes_);
  guard_.reset();
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace headlight::model
