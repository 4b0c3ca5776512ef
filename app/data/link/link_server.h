#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "app/data/link/link_message.h"
#include "app/data/link/linked_steps.h"
#include "platform/local_socket.h"
#include "platform/process.h"

namespace headlight::app {

/// The content that has come over the link, as a value.
struct LinkSnapshot {
  std::uint64_t session = 0;      ///< grows with each program that sent something; 0: none did
  std::string name;               ///< of the program, as it says
  bool is_linked = false;         ///< it is still there
  std::vector<LinkedStep> steps;  ///< in ascending order
  std::int64_t newest = 0;        ///< the step that came last
  std::uint64_t bytes = 0;        ///< of all steps
  LinkBudget budget;              ///< of the steps
  std::uint64_t thinned = 0;      ///< steps that went because of it
  std::string refusal;            ///< why the last capture was not taken; empty: it was
  /// Numbers that the program logged, of steps with and without a capture.
  std::shared_ptr<const ScalarCurves> scalars = std::make_shared<const ScalarCurves>();
};

struct LinkOptions {
  std::filesystem::path folder = {};  ///< link_folder()
  LinkBudget budget = {};
  std::uint64_t most_capture_bytes = std::uint64_t{256} << 20;
  std::uint32_t patience_ms = 10'000;        ///< a program that is silent within a message for longer is left
  std::uint32_t user = platform::user_id();  ///< programs of others are refused
  std::function<void()> wake = {};           ///< something came; called from the server's thread
};

/// Takes captures from one program at a time over a Unix socket, `folder`/viewer-PID.sock of mode 0600, on a thread of its
/// own. Every message is untrusted: its head is checked before anything of it is read, its payload goes to a file in pieces,
/// and only a file that opens as a capture becomes a step.
class LinkServer {
 public:
  /// Throws Error in one line where there can be no socket. Removes sockets and steps of windows that are gone.
  explicit LinkServer(LinkOptions options);
  /// Ends the thread and removes socket and steps.
  ~LinkServer();
  LinkServer(const LinkServer&) = delete;
  LinkServer& operator=(const LinkServer&) = delete;

  const std::filesystem::path& socket_path() const { return socket_path_; }
  /// Returns what has come, as another object whenever something came. Called from any thread.
  std::shared_ptr<const LinkSnapshot> snapshot() const;

 private:
  void serve();
  void accept_program();
  void read_program();
  void open_incoming();
  /// Ends a message: what `client_` sent is complete.
  void end_message();
  void take_capture();
  void take_scalars();
  /// Begins a session with the first capture or scalars of a program: what the one before sent goes.
  void begin_session();
  /// Tells the program why its message isn't taken, as far as it listens.
  void refuse(const std::string& why);
  void leave_program();
  void publish();
  int wait_ms() const;

  struct Client;
  LinkOptions options_;
  std::filesystem::path socket_path_, steps_folder_;
  platform::Descriptor listener_;
  std::optional<platform::Event> stop_;
  std::unique_ptr<Client> client_;
  LinkedSteps steps_;
  std::uint64_t session_ = 0, serial_ = 0;
  std::int64_t newest_ = 0;
  std::string name_, refusal_;
  ScalarCurves scalars_;
  mutable std::mutex mutex_;
  std::shared_ptr<const LinkSnapshot> snapshot_;
  std::thread thread_;
};

}  // namespace headlight::app
