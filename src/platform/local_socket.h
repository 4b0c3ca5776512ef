#pragma once

#include <span>

#include "platform/file.h"

namespace headlight::platform {

/// A socket at `path` that programs of this user alone connect to. None: `error` says why; filename_too_long for a path of
/// some 100 bytes.
Descriptor listen_at(const std::filesystem::path& path, std::error_code& error);
/// Is a program listening there?
bool is_answered(const std::filesystem::path& path);
/// The next connection that waits; doesn't block. None: there is none, or its program is of another user than `user`, and it
/// is closed.
Descriptor accept_from(const Descriptor& listener, std::uint32_t user);
/// Sends all without waiting: a program that doesn't read what it is sent is not waited for. Returns whether it took it.
bool send_now(const Descriptor& socket, std::span<const std::byte> bytes);
/// Receives the bytes that have come, `to.size()` at most; 0: the other end is closed. None: nothing has come yet.
std::optional<std::size_t> receive_now(const Descriptor& socket, std::span<std::byte> to);

/// Wakes a thread that waits for it.
class Event {
 public:
  /// `error`: the system has none left.
  explicit Event(std::error_code& error);

  /// Sets the event. From any thread, and from a signal's handler.
  void set() const noexcept;
  /// Waits until the event is set, and resets it.
  void wait() const;
  /// The number for wait_for_input(), which has input when the event is set.
  int number() const { return descriptor_.number(); }

 private:
  Descriptor descriptor_;
};

/// Waits until one of at most 8 files, sockets or events has input or is closed, or until `most_ms` are over; −1: for ever.
/// A number of −1 is left out. Returns bit i for number i; 0: the time is over. Where the system can't wait, all have input.
std::uint32_t wait_for_input(std::span<const int> numbers, int most_ms);

}  // namespace headlight::platform
