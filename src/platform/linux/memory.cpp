#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>

#include "platform/linux/last_error.h"
#include "platform/memory.h"

namespace headlight::platform {

namespace {

/// Returns the whole pages of the memory, as madvise() takes them. Empty: it has none.
std::span<std::byte> whole_pages(std::span<std::byte> memory, std::uintptr_t page) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t before = (page - address % page) % page;
  return memory.size() <= before ? std::span<std::byte>() : memory.subspan(before, (memory.size() - before) / page * page);
}

}  // namespace

std::uint64_t physical_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t available_bytes() {
  std::ifstream system("/proc/meminfo");
  std::string word;
  while (system >> word) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && system >> kib) return kib * 1024;
  }
  return 0;
}

bool has_address_space(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  void* room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  ::munmap(room, bytes);
  return true;
}

void return_freed_memory() { ::malloc_trim(0); }

void use_large_pages([[maybe_unused]] std::span<std::byte> memory) {
#ifdef MADV_HUGEPAGE
  const std::span<std::byte> pages = whole_pages(memory, kLargePageBytes);
  if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
#endif
}

void fetch_pages([[maybe_unused]] std::span<std::byte> memory) {
#ifdef MADV_POPULATE_WRITE  // Linux 5.14
  const std::span<std::byte> pages = whole_pages(memory, static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)));
  if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE);
#endif
}

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
