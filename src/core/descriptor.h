#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace headlight {

/// The number of an open file, closed with this.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }

 private:
  int number_;
};

/// Opens a regular file for reading. Never waits for a pipe. Throws Error naming the file and the system's reason, also for
/// pipes and devices, which may have no end, and for folders.
Descriptor open_to_read(const std::filesystem::path& path);

/// read(2): up to `most` bytes, which may be fewer than there are; 0 at the end alone. Goes on after a signal, and waits
/// where the descriptor doesn't block. Throws Error naming `name` and the system's reason.
std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name);

/// pread(2) until `count` bytes are there, or the file's end: returns how many. Throws as read_some().
std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name);

}  // namespace headlight
