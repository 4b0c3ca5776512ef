#include "platform/mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "platform/linux/last_error.h"

namespace headlight::platform {

/// One guarded mapping. The system answers a read past a file's new end with SIGBUS; the handler, installed with the first
/// guard, maps zeros over the rest of the mapping and marks the guard. A SIGBUS for any other reason goes to the previous
/// action. The handler may run at any time on any thread: it takes no lock and no memory.
struct Mapping::Guard {
  std::atomic<std::uintptr_t> begin{0}, end{0};  ///< 0: free
  std::atomic<bool> is_damaged{false};

  static std::array<Guard, kMaxGuarded> all;
  static Guard* take(std::span<const std::byte> mapping);
  static void on_bus_error(int signal, siginfo_t* info, void* context);
  static bool replace_pages(const siginfo_t& info);
};

namespace {

std::mutex guards_mutex;
struct sigaction previous_action {};
std::uintptr_t page_bytes = 4096;

/// Restores the previous action, which gets the signal once this returns: the faulting instruction runs again, and a signal
/// that another process sent is sent again.
void pass_bus_error_on(int signal, const siginfo_t& info) {
  ::sigaction(signal, &previous_action, nullptr);
  if (info.si_code <= 0) ::raise(signal);
}

}  // namespace

std::array<Mapping::Guard, Mapping::kMaxGuarded> Mapping::Guard::all{};

bool Mapping::Guard::replace_pages(const siginfo_t& info) {
  if (info.si_code != BUS_ADRERR) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  for (Guard& guard : all) {
    const std::uintptr_t end = guard.end.load(std::memory_order_acquire);
    if (address >= end || address < guard.begin.load(std::memory_order_acquire)) continue;
    const std::uintptr_t page = address / page_bytes * page_bytes;
    // Everything after the fault is past the file's end as well.
    void* const zeros =
        ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) return false;
    guard.is_damaged.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void Mapping::Guard::on_bus_error(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (!replace_pages(*info)) pass_bus_error_on(signal, *info);
  errno = error;
}

/// Null where all are in use.
Mapping::Guard* Mapping::Guard::take(std::span<const std::byte> mapping) {
  static std::once_flag is_installed;
  std::call_once(is_installed, [] {
    page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
  const std::scoped_lock lock(guards_mutex);
  for (Guard& guard : all) {
    if (guard.end.load(std::memory_order_relaxed) != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
    guard.is_damaged.store(false, std::memory_order_relaxed);
    guard.begin.store(begin, std::memory_order_release);
    guard.end.store(begin + mapping.size(), std::memory_order_release);
    return &guard;
  }
  return nullptr;
}

Mapping::Mapping(int descriptor, std::size_t size, std::error_code& error) {
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) {
    error = last_error();
    return;
  }
  // Far read-ahead when the file isn't in memory yet. Not MADV_WILLNEED: the caller may need only the header.
  ::madvise(address, size, MADV_SEQUENTIAL);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
  guard_ = Guard::take(bytes_);
}

Mapping::~Mapping() {
  if (guard_ != nullptr) {  // before the addresses become another mapping's
    const std::scoped_lock lock(guards_mutex);
    guard_->end.store(0, std::memory_order_release);
  }
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

bool Mapping::is_damaged() const { return guard_ != nullptr && guard_->is_damaged.load(std::memory_order_acquire); }

void Mapping::release(std::span<const std::byte> part) {
  // The pages that are all of the part.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(part.data()) % page) % page;
  if (part.size() <= before) return;
  ::madvise(const_cast<std::byte*>(part.data() + before), (part.size() - before) / page * page, MADV_DONTNEED);
}

}  // namespace headlight::platform
