#pragma once

#include <cstddef>
#include <span>

namespace headlight::model {

/// Keeps the process alive when a mapped file becomes shorter. The system answers a read behind the file's new end with
/// SIGBUS; a handler, installed with the first guard, then maps zeros over the rest of the mapping and marks the guard. A
/// SIGBUS for any other reason goes to the previous handler. Thread-safe.
class MappingGuard {
 public:
  /// `mapping` is what mmap() returned. With kMost guards in use a mapping stays unguarded.
  explicit MappingGuard(std::span<const std::byte> mapping);
  /// Destroy before the mapping is unmapped.
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  /// Were zeros read in place of missing bytes?
  bool is_damaged() const;

  static constexpr std::size_t kMost = 1024;

 private:
  struct Slot;
  static Slot* find_free();
  Slot* slot_ = nullptr;
};

}  // namespace headlight::model
