#include "platform/local_socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "platform/linux/last_error.h"

namespace headlight::platform {
namespace {

/// A Unix socket and the address of a path; none where the path is longer than the system takes.
struct Addressed {
  Descriptor socket;
  sockaddr_un address = {};

  explicit Addressed(const std::filesystem::path& path, std::error_code& error) {
    const std::string& text = path.native();
    if (text.size() >= sizeof(address.sun_path)) {
      error = std::make_error_code(std::errc::filename_too_long);
      return;
    }
    address.sun_family = AF_UNIX;
    std::memcpy(static_cast<char*>(address.sun_path), text.c_str(), text.size() + 1);
    socket = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) error = last_error();
  }
  const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast): POSIX
  }
};

}  // namespace

Descriptor listen_at(const std::filesystem::path& path, std::error_code& error) {
  constexpr int kWaiting = 4;
  Addressed listener(path, error);
  if (!listener.socket) return {};
  const int number = listener.socket.number();
  // Other users can't enter the folder, so none of them connects between bind() and chmod().
  const bool is_bound = ::bind(number, listener.generic(), sizeof(listener.address)) == 0;
  if (is_bound && ::chmod(path.c_str(), S_IRUSR | S_IWUSR) == 0 && ::listen(number, kWaiting) == 0) {
    return std::move(listener.socket);
  }
  error = last_error();
  return {};
}

bool is_answered(const std::filesystem::path& path) {
  std::error_code error;
  const Addressed probe(path, error);
  return !error && (::connect(probe.socket.number(), probe.generic(), sizeof(probe.address)) == 0 || errno == EAGAIN);
}

Descriptor accept_from(const Descriptor& listener, std::uint32_t user) {
  Descriptor accepted(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!accepted) return {};
  ucred peer = {};
  socklen_t size = sizeof(peer);
  const bool is_known = ::getsockopt(accepted.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return is_known && peer.uid == user ? std::move(accepted) : Descriptor();
}

bool send_now(const Descriptor& socket, std::span<const std::byte> bytes) {
  const ssize_t sent = ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<std::size_t> receive_now(const Descriptor& socket, std::span<std::byte> to) {
  const ssize_t count = ::recv(socket.number(), to.data(), to.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  return static_cast<std::size_t>(std::max<ssize_t>(count, 0));
}

Event::Event(std::error_code& error) : descriptor_(::eventfd(0, EFD_CLOEXEC)) {
  if (!descriptor_) error = last_error();
}

void Event::set() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(number(), &one, sizeof(one)));  // an eventfd near 0 takes it
}

void Event::wait() const {
  std::uint64_t count = 0;
  while (::read(number(), &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

std::uint32_t wait_for_input(std::span<const int> numbers, int most_ms) {
  std::array<pollfd, 8> watched{};
  for (std::size_t i = 0; i < numbers.size(); ++i) watched[i] = {.fd = numbers[i], .events = POLLIN, .revents = 0};
  int ready = 0;
  while ((ready = ::poll(watched.data(), numbers.size(), most_ms)) < 0 && errno == EINTR) {
  }
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (ready < 0 || watched[i].revents != 0) bits |= 1U << i;
  }
  return bits;
}

}  // namespace headlight::platform
