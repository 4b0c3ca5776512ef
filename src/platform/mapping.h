#pragma once

#include <cstddef>
#include <span>
#include <system_error>

namespace headlight::platform {

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
