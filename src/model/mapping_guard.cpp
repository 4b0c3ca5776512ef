#include "model/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace headlight::model {

/// One guarded mapping. The handler may run at any time on any thread: it takes no lock and no memory.
struct MappingGuard::Slot {
  std::atomic<std::uintptr_t> begin{0}, end{0};  ///< 0: free
  std::atomic<bool> is_damaged{false};

  static std::array<Slot, kMost> all;
  static void on_bus_error(int signal, siginfo_t* info, void* context);
  static bool replace_pages(const siginfo_t& info);
};

namespace {

std::mutex slots_mutex;
struct sigaction previous_action {};
std::uintptr_t page_bytes = 4096;

/// Restores the previous handling. The faulting instruction runs again once this returns, so the system's default action
/// ends the process.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, info, context);
  } else if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    ::signal(signal, SIG_DFL);
  } else {
    previous_action.sa_handler(signal);
  }
}

}  // namespace

std::array<MappingGuard::Slot, MappingGuard::kMost> MappingGuard::Slot::all{};

bool MappingGuard::Slot::replace_pages(const siginfo_t& info) {
  if (info.si_code != BUS_ADRERR) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  for (Slot& slot : all) {
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (address >= end || address < slot.begin.load(std::memory_order_acquire)) continue;
    const std::uintptr_t page = address / page_bytes * page_bytes;
    // Everything after the fault is behind the file's end as well.
    void* const zeros =
        ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) return false;
    slot.is_damaged.store(true, std::memory_order_release);
    return true;
  }
  return false;
}

void MappingGuard::Slot::on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (!replace_pages(*info)) pass_on(signal, info, context);
  errno = error;
}

MappingGuard::Slot* MappingGuard::find_free() {
  for (Slot& slot : Slot::all) {
    if (slot.end.load(std::memory_order_relaxed) == 0) return &slot;
  }
  return nullptr;
}

MappingGuard::MappingGuard(std::span<const std::byte> mapping) {
  static std::once_flag is_installed;
  std::call_once(is_installed, [] {
    page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = Slot::on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
  const std::scoped_lock lock(slots_mutex);
  slot_ = find_free();
  if (slot_ == nullptr) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  slot_->is_damaged.store(false, std::memory_order_relaxed);
  slot_->begin.store(begin, std::memory_order_release);
  slot_->end.store(begin + mapping.size(), std::memory_order_release);
}

MappingGuard::~MappingGuard() {
  if (slot_ == nullptr) return;
  const std::scoped_lock lock(slots_mutex);
  slot_->end.store(0, std::memory_order_release);
}

bool MappingGuard::is_damaged() const { return slot_ != nullptr && slot_->is_damaged.load(std::memory_order_acquire); }

}  // namespace headlight::model
