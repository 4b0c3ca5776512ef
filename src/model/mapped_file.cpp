#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace headlight::model {
namespace {

/// Closes when it goes: the mapping lives on without its descriptor.
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
  // A pipe would block an open for ever, so its kind is asked first.
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error("can't open {}: it is not a file", path_.string());
  const Descriptor descriptor(path_);
  if (::fstat(descriptor.number(), &status) != 0) throw Error("can't read {}: {}", path_.string(), std::strerror(errno));
  if (status.st_size == 0) throw Error("{} is empty: download it again", path_.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.number(), 0);
  if (address == MAP_FAILED) throw Error("can't map {} into memory: {}", path_.string(), std::strerror(errno));
  // Far read-ahead when the file isn't in memory yet. Not MADV_WILLNEED: who opens a file may want its head alone.
  ::madvise(address, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace headlight::model
