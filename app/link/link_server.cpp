#include "app/link/link_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "app/state/source.h"
#include "capture/capture_file.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr const char* kIncoming = "incoming.safetensors";

/// Sockets and steps of windows that ended without closing.
void remove_left_overs(const fs::path& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string();
    const bool is_ours = name.starts_with("viewer-") && (path.extension() == ".sock" || path.extension() == ".steps");
    const fs::path socket = fs::path(path).replace_extension(".sock");
    if (!is_ours || is_answered(socket)) continue;
    fs::remove(socket, ignored);
    fs::remove_all(fs::path(path).replace_extension(".steps"), ignored);
  }
}

/// Steps lie in memory where the folder is a tmpfs: they take half of what is free there at most.
LinkBudget fitted(LinkBudget budget, const fs::path& folder) {
  struct statvfs found = {};
  if (::statvfs(folder.c_str(), &found) == 0) {
    budget.bytes = std::min(budget.bytes, std::uint64_t{found.f_bavail} * found.f_frsize / 2);
  }
  return budget;
}

}  // namespace

/// The program that is linked, and the message that it is sending.
struct LinkServer::Client {
  struct CloseStream {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  LinkSocket socket;
  bool is_welcome = false;  ///< said hello
  bool has_sent = false;    ///< a capture, so that the steps are its own
  std::array<std::byte, kLinkHeadBytes> head_bytes = {};
  std::size_t head_size = 0;  ///< bytes of it that are there
  LinkHead head = {};
  std::uint64_t payload_size = 0;  ///< bytes of the payload that are there
  std::string hello = {};
  std::unique_ptr<std::FILE, CloseStream> file = {};  ///< the capture that arrives; null where the disk refused it
  std::string trouble = {};                           ///< of the disk
  Clock::time_point heard = Clock::now();

  bool is_within_message() const { return head_size > 0; }
};

LinkServer::LinkServer(LinkOptions options)
    : options_(std::move(options)),
      socket_path_(options_.folder / fmt::format("viewer-{}.sock", ::getpid())),
      steps_folder_(linked_steps_folder(socket_path_)),
      steps_(fitted(options_.budget, options_.folder)),
      snapshot_(std::make_shared<LinkSnapshot>()) {
  remove_left_overs(options_.folder);
  make_private_folder(steps_folder_);
  listener_ = listen_at(socket_path_);
  stop_ = LinkSocket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) throw Error("no event for the live link: {}", std::strerror(errno));
  publish();
  thread_ = std::thread([this] { serve(); });
}

LinkServer::~LinkServer() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_.get(), &one, sizeof(one)));  // an eventfd of 0 takes it
  thread_.join();
  client_.reset();
  steps_.clear();
  std::error_code ignored;
  fs::remove(socket_path_, ignored);
  fs::remove_all(steps_folder_, ignored);
}

std::shared_ptr<const LinkSnapshot> LinkServer::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

void LinkServer::publish() {
  auto made = std::make_shared<LinkSnapshot>(LinkSnapshot{.session = session_,
                                                          .name = name_,
                                                          .is_linked = client_ && client_->is_welcome,
                                                          .steps = steps_.steps(),
                                                          .newest = newest_,
                                                          .bytes = steps_.bytes(),
                                                          .budget = steps_.budget(),
                                                          .thinned = steps_.thinned(),
                                                          .refusal = refusal_});
  {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(made);
  }
  if (options_.wake) options_.wake();
}

int LinkServer::wait_ms() const {
  if (!client_ || (client_->is_welcome && !client_->is_within_message())) return -1;
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - client_->heard).count();
  return static_cast<int>(std::max<std::int64_t>(std::int64_t{options_.patience_ms} - silent, 0));
}

void LinkServer::serve() {
  while (true) {
    std::array<pollfd, 3> watched = {pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                     pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                                     pollfd{.fd = client_ ? client_->socket.get() : -1, .events = POLLIN, .revents = 0}};
    const int ready = ::poll(watched.data(), watched.size(), wait_ms());
    if (watched[0].revents != 0 || (ready < 0 && errno != EINTR)) return;
    try {
      if (watched[2].revents != 0) {
        read_program();
      } else if (ready == 0 && client_) {
        refuse("the message didn't go on");
        leave_program();
      }
      if (watched[1].revents != 0) accept_program();
    } catch (const std::exception& error) {  // the program broke the protocol: its connection is closed
      refuse(error.what());
      leave_program();
    }
  }
}

void LinkServer::accept_program() {
  LinkSocket socket = accept_from(listener_, options_.user);
  if (!socket) return;
  if (client_) {
    static_cast<void>(send_now(socket, encode({.kind = LinkKind::Busy})));
    return;
  }
  client_ = std::make_unique<Client>();
  client_->socket = std::move(socket);
}

void LinkServer::read_program() {
  thread_local std::vector<std::byte> piece(kPiece);
  Client& client = *client_;
  const bool is_head = client.head_size < kLinkHeadBytes;
  const std::uint64_t wanted = is_head ? kLinkHeadBytes - client.head_size
                                       : std::min<std::uint64_t>(kPiece, client.head.payload_bytes - client.payload_size);
  const ssize_t count = ::recv(client.socket.get(), piece.data(), wanted, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return leave_program();
  client.heard = Clock::now();
  const std::span<const std::byte> read(piece.data(), static_cast<std::size_t>(count));
  if (is_head) {
    std::ranges::copy(read, client.head_bytes.begin() + static_cast<std::ptrdiff_t>(client.head_size));
    client.head_size += read.size();
    if (client.head_size < kLinkHeadBytes) return;
    client.head = decode_link_head(client.head_bytes, options_.most_capture_bytes);
    const bool is_hello = client.head.kind == LinkKind::Hello;
    if (is_hello == client.is_welcome) {
      throw Error(is_hello ? "hello was said before" : "a program says hello first");
    }
    if (!is_hello) client.file.reset(std::fopen((steps_folder_ / kIncoming).c_str(), "wbe"));
    if (!is_hello && !client.file) client.trouble = std::strerror(errno);
  } else if (client.head.kind == LinkKind::Hello) {
    for (const std::byte byte : read) client.hello += static_cast<char>(byte);
    client.payload_size += read.size();
  } else {
    // On a full disk the rest is read all the same, and then refused.
    if (client.file && std::fwrite(read.data(), 1, read.size(), client.file.get()) != read.size()) {
      client.trouble = std::strerror(errno);
      client.file.reset();
    }
    client.payload_size += read.size();
  }
  if (client.payload_size == client.head.payload_bytes) end_message();
}

void LinkServer::end_message() {
  Client& client = *client_;
  if (client.head.kind == LinkKind::Hello) {
    if (find_invalid_utf8(client.hello) != std::string::npos) throw Error("the program's name isn't UTF-8");
    client.is_welcome = true;
    const std::string terms =
        fmt::format(R"({{"program": "headlight", "version": {}, "most_bytes": {}, "budget_bytes": {}}})", kLinkVersion,
                    options_.most_capture_bytes, steps_.budget().bytes);
    static_cast<void>(send_now(client.socket, encode({.kind = LinkKind::Welcome, .payload_bytes = terms.size()})));
    static_cast<void>(send_now(client.socket, std::as_bytes(std::span(terms))));
  } else {
    take_capture();
  }
  client.head_size = 0;
  client.payload_size = 0;
  client.trouble.clear();
}

void LinkServer::take_capture() {
  Client& client = *client_;
  const fs::path incoming = steps_folder_ / kIncoming;
  try {
    if (client.file && std::fflush(client.file.get()) != 0) client.trouble = std::strerror(errno);
    client.file.reset();
    if (!client.trouble.empty()) {
      // Older steps make room for the next one.
      const std::uint64_t before = steps_.bytes();
      while (before - steps_.bytes() < client.head.payload_bytes && steps_.thin_out()) {
      }
      throw Error("step {} can't be kept: {}", client.head.step, client.trouble);
    }
    static_cast<void>(capture::CaptureFile(incoming));  // throws where it is none
    if (client.head.payload_bytes > steps_.budget().bytes) {
      throw Error("step {} has {} bytes, more than all steps may take ({})", client.head.step, client.head.payload_bytes,
                  steps_.budget().bytes);
    }
  } catch (const Error& error) {
    std::string why = error.what();  // which names a file that the program doesn't know
    if (const std::size_t at = why.find(incoming.string()); at != std::string::npos) {
      why.replace(at, incoming.string().size(), fmt::format("step {}", client.head.step));
    }
    refusal_ = why;
    publish();
    return refuse(why);
  }
  if (!std::exchange(client.has_sent, true)) {
    steps_.clear();
    ++session_;
    name_ = one_line(client.hello);
  }
  refusal_.clear();
  const fs::path file = linked_step_path(steps_folder_, client.head.step, ++serial_);
  fs::rename(incoming, file);
  newest_ = client.head.step;
  steps_.add({.step = client.head.step, .file = file, .bytes = client.head.payload_bytes});
  publish();
  static_cast<void>(send_now(client.socket, encode({.kind = LinkKind::Kept, .step = client.head.step})));
}

void LinkServer::refuse(const std::string& why) {
  if (!client_) return;
  static_cast<void>(send_now(client_->socket,
                             encode({.kind = LinkKind::Refused, .step = client_->head.step, .payload_bytes = why.size()})));
  static_cast<void>(send_now(client_->socket, std::as_bytes(std::span(why))));
}

void LinkServer::leave_program() {
  client_.reset();
  publish();
}

}  // namespace headlight::app
