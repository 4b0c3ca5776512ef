#include "app/link/link_socket.h"

#include <cerrno>
#include <cstring>
#include <string_view>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/error.h"

namespace headlight::app {
namespace {

constexpr std::string_view kLinkMagic = "HLNK";

template <typename Number>
void put(std::span<std::byte> to, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    to[i] = static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
  }
}

std::uint64_t take(std::span<const std::byte> from) {
  std::uint64_t value = 0;
  for (std::size_t i = from.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(from[i]);
  return value;
}

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

std::array<std::byte, kLinkHeadBytes> encode(const LinkHead& head) {
  std::array<std::byte, kLinkHeadBytes> bytes{};
  const std::span<std::byte> all = bytes;
  std::memcpy(bytes.data(), kLinkMagic.data(), kLinkMagic.size());
  put(all.subspan(4, 2), kLinkVersion);
  put(all.subspan(6, 2), static_cast<std::uint16_t>(head.kind));
  put(all.subspan(8, 8), head.step);
  put(all.subspan(16, 8), head.payload_bytes);
  return bytes;
}

LinkHead decode_link_head(std::span<const std::byte, kLinkHeadBytes> bytes, std::uint64_t most_payload) {
  if (std::memcmp(bytes.data(), kLinkMagic.data(), kLinkMagic.size()) != 0) {
    throw Error(ErrorKind::InvalidInput, "the message doesn't begin with HLNK: this socket takes live links alone");
  }
  if (const std::uint64_t version = take(bytes.subspan(4, 2)); version != kLinkVersion) {
    throw Error(ErrorKind::InvalidInput, "version {} of the link is unknown; this program has version {}", version,
                kLinkVersion);
  }
  const std::uint64_t kind = take(bytes.subspan(6, 2));
  if (kind != static_cast<std::uint16_t>(LinkKind::Hello) && kind != static_cast<std::uint16_t>(LinkKind::Capture)) {
    throw Error(ErrorKind::InvalidInput, "a program sends hello (1) and captures (2), no message of kind {}", kind);
  }
  LinkHead head{.kind = static_cast<LinkKind>(kind)};
  head.step = static_cast<std::int64_t>(take(bytes.subspan(8, 8)));
  if (head.step < 0 || head.step > kMaxLinkStep) {
    throw Error(ErrorKind::InvalidInput, "step {} is outside of 0 to {}", head.step, kMaxLinkStep);
  }
  head.payload_bytes = take(bytes.subspan(16, 8));
  const std::uint64_t most = head.kind == LinkKind::Hello ? kMaxHelloBytes : most_payload;
  if (head.payload_bytes > most) {
    throw Error(ErrorKind::InvalidInput, "a payload of {} bytes is more than {}; send fewer layers or a shorter text",
                head.payload_bytes, most);
  }
  return head;
}

}  // namespace headlight::app
