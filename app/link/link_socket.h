#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace headlight::app {

/// A descriptor that is closed with the object; −1: none.
class LinkSocket {
 public:
  LinkSocket() = default;
  explicit LinkSocket(int descriptor) : descriptor_(descriptor) {}
  LinkSocket(LinkSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LinkSocket& operator=(LinkSocket&& other) noexcept;
  ~LinkSocket();

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

/// Listens at `path` with mode 0600. Throws Error naming the path.
LinkSocket listen_at(const std::filesystem::path& path);
/// Is a program listening there?
bool is_answered(const std::filesystem::path& path);
/// The next connection that waits; doesn't block. None: there is none, or its program is of another user than `user`
/// (SO_PEERCRED) and it is closed.
LinkSocket accept_from(const LinkSocket& listener, uid_t user);
/// Sends all without waiting: a program that doesn't read what it is told is not waited for. Returns whether it took it.
bool send_now(const LinkSocket& socket, std::span<const std::byte> bytes);

}  // namespace headlight::app
