#include "app/link/link_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace headlight::app {
namespace {

/// A Unix socket's address. Throws Error where the path is longer than the system takes.
sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof(address.sun_path)) {
    throw Error("{} is too long for a socket; set XDG_RUNTIME_DIR to a shorter folder", text);
  }
  std::memcpy(static_cast<char*>(address.sun_path), text.c_str(), text.size() + 1);
  return address;
}

LinkSocket new_socket() {
  LinkSocket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) throw Error("no socket: {}", std::strerror(errno));
  return made;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): POSIX
}

}  // namespace

LinkSocket& LinkSocket::operator=(LinkSocket&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

LinkSocket::~LinkSocket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LinkSocket listen_at(const std::filesystem::path& path) {
  constexpr int kWaiting = 4;
  const sockaddr_un address = address_of(path);
  LinkSocket listener = new_socket();
  // Other users can't enter the folder, so none of them connects between bind() and chmod().
  const bool is_bound = ::bind(listener.get(), generic(address), sizeof(address)) == 0;
  if (!is_bound || ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(listener.get(), kWaiting) != 0) {
    throw Error("no socket at {}: {}", path.string(), std::strerror(errno));
  }
  return listener;
}

bool is_answered(const std::filesystem::path& path) {
  const sockaddr_un address = address_of(path);
  const LinkSocket probe = new_socket();
  return ::connect(probe.get(), generic(address), sizeof(address)) == 0 || errno == EAGAIN;
}

LinkSocket accept_from(const LinkSocket& listener, uid_t user) {
  LinkSocket accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted) return {};
  ucred peer = {};
  socklen_t size = sizeof(peer);
  const bool is_known = ::getsockopt(accepted.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return is_known && peer.uid == user ? std::move(accepted) : LinkSocket();
}

bool send_now(const LinkSocket& socket, std::span<const std::byte> bytes) {
  return ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes.size());
}

}  // namespace headlight::app
