#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "app/data/link/link_message.h"
#include "app/data/link/link_server.h"
#include "core/file.h"

namespace headlight::app {

/// The bytes of a small capture.
inline const std::string& captured() {
  static const std::string kBytes = read_file(std::filesystem::path(HEADLIGHT_GOLDEN_DIR) / "captures" / "self.safetensors");
  return kBytes;
}

/// A program at the other end of a live link, as hostile as a test wants it.
class LinkProgram {
 public:
  explicit LinkProgram(const std::filesystem::path& socket) : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
    is_connected_ = ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~LinkProgram() { close(); }
  LinkProgram(const LinkProgram&) = delete;
  LinkProgram& operator=(const LinkProgram&) = delete;

  bool is_connected() const { return is_connected_; }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  void send(std::string_view bytes) const {
    static_cast<void>(!::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  void send(LinkKind kind, std::string_view payload, std::int64_t step = 0) const {
    const auto head = encode({.kind = kind, .step = step, .payload_bytes = payload.size()});
    send({reinterpret_cast<const char*>(head.data()), head.size()});
    send(payload);
  }

  /// Says that nothing more will be sent; returns what the server answers until it closes the connection, 1 MiB at most.
  std::string end() const {
    constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;
    ::shutdown(descriptor_, SHUT_WR);
    return receive(kMaxAnswer);
  }

  struct Answer {
    int kind = 0;  ///< 0: the connection ended, −1: no answer in time
    std::int64_t step = 0;
    std::string text;
  };
  Answer answer() const {
    const std::string head = receive(kLinkHeadBytes);
    if (head.size() != kLinkHeadBytes) return {.kind = is_silent_ ? -1 : 0, .step = 0, .text = {}};
    Answer answer;
    std::uint16_t kind = 0;
    std::uint64_t size = 0;
    std::memcpy(&kind, head.data() + 6, sizeof(kind));
    std::memcpy(&answer.step, head.data() + 8, sizeof(answer.step));
    std::memcpy(&size, head.data() + 16, sizeof(size));
    answer.kind = kind;
    answer.text = receive(size);
    return answer;
  }

 private:
  std::string receive(std::size_t size) const {
    std::string all;
    is_silent_ = false;
    while (all.size() < size) {
      constexpr int kPatience_ms = 20'000;
      pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (::poll(&watched, 1, kPatience_ms) == 0) {
        is_silent_ = true;
        break;
      }
      char piece[4096];
      const ssize_t count = ::recv(descriptor_, piece, std::min(sizeof(piece), size - all.size()), 0);
      if (count <= 0) break;
      all.append(piece, static_cast<std::size_t>(count));
    }
    return all;
  }

  int descriptor_ = -1;
  bool is_connected_ = false;
  mutable bool is_silent_ = false;
};

}  // namespace headlight::app
