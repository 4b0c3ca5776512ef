#pragma once

#include <cstddef>
#include <span>

namespace headlight::model {

/// Keeps the process alive when a mapped file becomes shorter under it. The system answers a look behind the file's new end
/// with SIGBUS; a handler, installed with the first guard, then lets zeros take the place of the mapping from there on, and
/// the guard knows. A SIGBUS for any other reason goes to the handler from before. Thread-safe.
class MappingGuard {
 public:
  /// `mapping` is what mmap() returned. Beyond kMost guards at a time a mapping goes unguarded.
  explicit MappingGuard(std::span<const std::byte> mapping);
  /// Before the mapping is taken away.
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  /// Were zeros read that the file does not hold?
  bool is_damaged() const;

  static constexpr std::size_t kMost = 1024;

 private:
  struct Slot;
  static Slot* find_free();
  Slot* slot_ = nullptr;
};

}  // namespace headlight::model
