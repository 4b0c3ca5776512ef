#include "app/data/link/link_server.h"

#include <algorithm>
#include <chrono>
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
    const std::string name = utf8(path.filename());
    const bool is_ours = name.starts_with("viewer-") && (path.extension() == ".sock" || path.extension() == ".steps");
    const fs::path socket = fs::path(path).replace_extension(".sock");
    if (!is_ours || platform::is_answered(socket)) continue;
    fs::remove(socket, ignored);
    fs::remove_all(fs::path(path).replace_extension(".steps"), ignored);
  }
}

/// Returns the budget that fits. Steps lie in memory where the folder is a tmpfs: they take half of what is free there at
/// most.
LinkBudget fitted(LinkBudget budget, const fs::path& folder) {
  std::error_code failure;
  const fs::space_info found = fs::space(folder, failure);
  if (!failure) budget.bytes = std::min<std::uint64_t>(budget.bytes, found.available / 2);
  return budget;
}

}  // namespace

/// The program that is linked, and the message that it is sending.
struct LinkServer::Client {
  platform::Descriptor socket;
  bool is_welcome = false;  ///< said hello
  std::string name = {};
  bool has_sent = false;  ///< a capture or scalars, so that the steps are its own
  std::array<std::byte, kLinkHeadBytes> head_bytes = {};
  std::size_t head_size = 0;  ///< bytes of it that are there
  LinkHead head = {};
  std::uint64_t payload_size = 0;  ///< bytes of the payload that are there
  std::string text = {};           ///< of a hello or of scalars
  platform::Descriptor file = {};  ///< the capture that arrives; none where the disk refused it
  std::string trouble = {};        ///< of the disk
  Clock::time_point heard = Clock::now();

  bool is_within_message() const { return head_size > 0; }
};

LinkServer::LinkServer(LinkOptions options)
    : options_(std::move(options)),
      socket_path_(options_.folder / fmt::format("viewer-{}.sock", platform::process_id())),
      steps_folder_(linked_steps_folder(socket_path_)),
      steps_(fitted(options_.budget, options_.folder)),
      snapshot_(std::make_shared<LinkSnapshot>()) {
  remove_left_overs(options_.folder);
  make_private_folder(steps_folder_);
  std::error_code error;
  listener_ = platform::listen_at(socket_path_, error);
  if (error == std::errc::filename_too_long) {
    throw Error("{} is too long for a socket; set XDG_RUNTIME_DIR to a shorter folder", utf8(socket_path_));
  }
  if (error) throw Error("no socket at {}: {}", utf8(socket_path_), error.message());
  stop_.emplace(error);
  if (error) throw Error("no event for the live link: {}", error.message());
  publish();
  thread_ = std::thread([this] { serve(); });
}

LinkServer::~LinkServer() {
  stop_->set();
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
                                                          .refusal = refusal_,
                                                          .scalars = std::make_shared<const ScalarCurves>(scalars_)});
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
    const std::array watched = {stop_->number(), listener_.number(), client_ ? client_->socket.number() : -1};
    const std::uint32_t ready = platform::wait_for_input(watched, wait_ms());
    if ((ready & 1U) != 0) return;
    try {
      if ((ready & 4U) != 0) {
        read_program();
      } else if (ready == 0 && client_) {
        refuse("the message didn't go on");
        leave_program();
      }
      if ((ready & 2U) != 0) accept_program();
    } catch (const std::exception& error) {  // the program broke the protocol: its connection is closed
      refuse(error.what());
      leave_program();
    }
  }
}

void LinkServer::accept_program() {
  platform::Descriptor socket = platform::accept_from(listener_, options_.user);
  if (!socket) return;
  if (client_) {
    static_cast<void>(platform::send_now(socket, encode({.kind = LinkKind::Busy})));
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
  const std::optional<std::size_t> count = platform::receive_now(client.socket, std::span(piece).first(wanted));
  if (!count) return;
  if (*count == 0) return leave_program();
  client.heard = Clock::now();
  const std::span<const std::byte> read(piece.data(), *count);
  if (is_head) {
    std::ranges::copy(read, client.head_bytes.begin() + static_cast<std::ptrdiff_t>(client.head_size));
    client.head_size += read.size();
    if (client.head_size < kLinkHeadBytes) return;
    client.head = decode_link_head(client.head_bytes, options_.most_capture_bytes);
    const bool is_hello = client.head.kind == LinkKind::Hello;
    if (is_hello == client.is_welcome) {
      throw Error(is_hello ? "hello was said before" : "a program says hello first");
    }
    client.text.clear();
    if (client.head.kind == LinkKind::Capture) open_incoming();
  } else if (client.head.kind != LinkKind::Capture) {
    for (const std::byte byte : read) client.text += static_cast<char>(byte);
    client.payload_size += read.size();
  } else {
    // A capture that a full disk can't take is read to its end all the same, and then refused.
    const std::string_view bytes(reinterpret_cast<const char*>(read.data()), read.size());
    const std::error_code error = client.file ? platform::write_all(client.file.number(), bytes) : std::error_code();
    if (error) {
      client.trouble = error.message();
      client.file = {};
    }
    client.payload_size += read.size();
  }
  if (client.payload_size == client.head.payload_bytes) end_message();
}

void LinkServer::open_incoming() {
  std::error_code error;
  fs::remove(steps_folder_ / kIncoming, error);  // of a message that broke off
  error.clear();
  client_->file = platform::create_file(steps_folder_ / kIncoming, error);
  if (error) client_->trouble = error.message();
}

void LinkServer::end_message() {
  Client& client = *client_;
  if (client.head.kind == LinkKind::Hello) {
    if (find_invalid_utf8(client.text) != std::string::npos) throw Error("the program's name isn't UTF-8");
    client.is_welcome = true;
    client.name = one_line(client.text);
    const std::string terms =
        fmt::format(R"({{"program": "headlight", "version": {}, "most_bytes": {}, "budget_bytes": {}, "scalars": true}})",
                    kLinkVersion, options_.most_capture_bytes, steps_.budget().bytes);
    static_cast<void>(platform::send_now(client.socket, encode({.kind = LinkKind::Welcome, .payload_bytes = terms.size()})));
    static_cast<void>(platform::send_now(client.socket, std::as_bytes(std::span(terms))));
  } else if (client.head.kind == LinkKind::Scalars) {
    take_scalars();
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
    client.file = {};
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
    if (const std::size_t at = why.find(utf8(incoming)); at != std::string::npos) {
      why.replace(at, utf8(incoming).size(), fmt::format("step {}", client.head.step));
    }
    refusal_ = why;
    publish();
    return refuse(why);
  }
  begin_session();
  refusal_.clear();
  const fs::path file = linked_step_path(steps_folder_, client.head.step, ++serial_);
  fs::rename(incoming, file);
  newest_ = client.head.step;
  steps_.add({.step = client.head.step, .file = file, .bytes = client.head.payload_bytes});
  publish();
  static_cast<void>(platform::send_now(client.socket, encode({.kind = LinkKind::Kept, .step = client.head.step})));
}

void LinkServer::take_scalars() {
  try {
    const std::map<std::string, double> numbers = read_scalars(client_->text);
    begin_session();
    add_scalars(scalars_, client_->head.step, numbers);
  } catch (const Error& error) {
    return refuse(error.what());
  }
  publish();
  static_cast<void>(platform::send_now(client_->socket, encode({.kind = LinkKind::Kept, .step = client_->head.step})));
}

void LinkServer::begin_session() {
  if (std::exchange(client_->has_sent, true)) return;
  steps_.clear();
  scalars_.clear();
  ++session_;
  name_ = client_->name;
}

void LinkServer::refuse(const std::string& why) {
  if (!client_) return;
  static_cast<void>(platform::send_now(
      client_->socket, encode({.kind = LinkKind::Refused, .step = client_->head.step, .payload_bytes = why.size()})));
  static_cast<void>(platform::send_now(client_->socket, std::as_bytes(std::span(why))));
}

void LinkServer::leave_program() {
  client_.reset();
  publish();
}

}  // namespace headlight::app
