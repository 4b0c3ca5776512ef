#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>

namespace headlight::platform {

/// Bytes of memory that this computer has.
std::uint64_t physical_bytes();
/// Bytes that the system calls available to programs now; 0 where it doesn't say.
std::uint64_t available_bytes();
/// Could this process use so many bytes of addresses more? Asked of processes that have a limit; true for others.
bool has_address_space(std::size_t bytes);
/// Returns what was freed to the system.
void return_freed_memory();

/// Bytes of a large page, where the system has them.
inline constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;
/// Asks for large pages for what of the memory is whole ones. Where the system has none, nothing is lost.
void use_large_pages(std::span<std::byte> memory);
/// Gives memory its pages before the first write to it; what is in pages already stays. Where the system can't, the first
/// write does.
void fetch_pages(std::span<std::byte> memory);

/// The bytes of an open file in memory, read-only: the system loads a page at its first read. When the file becomes shorter,
/// reads past its new end give zeros instead of ending the process, in kMaxGuarded mappings at once.
class Mapping {
 public:
  /// The first `size` bytes, at least 1. The descriptor stays the caller's, and open as long as this. bytes() is empty where
  /// `error` says why.
  Mapping(int descriptor, std::size_t size, std::error_code& error);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Were zeros read in place of missing bytes?
  bool is_damaged() const;
  /// Returns the pages of a part of bytes() to the system; the next read loads them from the file again.
  static void release(std::span<const std::byte> part);

  static constexpr std::size_t kMaxGuarded = 1024;

 private:
  struct Guard;
  std::span<const std::byte> bytes_;
  Guard* guard_ = nullptr;
};

}  // namespace headlight::platform
