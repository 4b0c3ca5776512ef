#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <signal.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "core/atomic_file.h"
#include "core/error.h"

namespace headlight::model {
namespace {

struct Mapped {
  std::size_t size = 0;
  std::filesystem::path path;
};

struct MappedFiles {
  std::mutex mutex;
  std::map<const std::byte*, Mapped> begins;
};

MappedFiles& mapped_files() {
  static MappedFiles instance;
  return instance;
}

}  // namespace

void add_mapped_address(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mapped_files().mutex);
  mapped_files().begins[bytes.data()] = {bytes.size(), path};
}

void remove_mapped_address(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mapped_files().mutex);
  mapped_files().begins.erase(bytes.data());
}

std::optional<MappedAddress> find_mapped_address(const std::byte* address) {
  const std::scoped_lock lock(mapped_files().mutex);
  const auto next = mapped_files().begins.upper_bound(address);
  if (next == mapped_files().begins.begin()) return std::nullopt;
  const auto& [begin, mapped] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(address - begin);
  return offset < mapped.size ? std::optional(MappedAddress{mapped.path, offset}) : std::nullopt;
}

/// One guarded mapping. The handler may run at any time on any thread: it takes no lock and no memory.
struct MappingGuard::Slot {
  std::atomic<std::uintptr_t> begin{0}, end{0};  ///< 0: free
  std::atomic<bool> is_damaged{false};

  static std::array<Slot, kMax> all;
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

std::array<MappingGuard::Slot, MappingGuard::kMax> MappingGuard::Slot::all{};

bool MappingGuard::Slot::replace_pages(const siginfo_t& info) {
  if (info.si_code != BUS_ADRERR) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  for (Slot& slot : all) {
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (address >= end || address < slot.begin.load(std::memory_order_acquire)) continue;
    const std::uintptr_t page = address / page_bytes * page_bytes;
    // Everything after the fault is past the file's end as well.
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

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // Opening a pipe could block forever, so the type is checked first.
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw Error("can't open {}: it is not a file", path_.string());
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  try {
    const std::optional<FileStamp> stamp = stamp_of(descriptor_);
    if (!stamp) throw Error("can't read {}: {}", path_.string(), std::strerror(errno));
    if (stamp->bytes == 0) throw Error("{} is empty: download it again", path_.string());
    stamp_ = *stamp;
    map(stamp_.bytes);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

void MappedFile::map(std::size_t size) {
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED) throw Error("can't map {} into memory: {}", path_.string(), std::strerror(errno));
  // Far read-ahead when the file isn't in memory yet. Not MADV_WILLNEED: the caller may need only the header.
  ::madvise(address, size, MADV_SEQUENTIAL);
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
  guard_.emplace(bytes_);
  try {
    refuse_lfs_pointer({static_cast<const char*>(address), size}, path_);
  } catch (...) {
    guard_.reset();
    ::munmap(address, size);
    throw;
  }
  add_mapped_address(path_, bytes_);
}

void MappedFile::expect_intact() const {
  const std::optional<FileStamp> now = stamp_of(descriptor_);
  if (now && now->bytes < bytes_.size()) {
    throw Error(ErrorKind::InvalidInput, "{} was cut short while it was in use: restore it and open the model again",
                path_.string());
  }
  if (!now || read_error_ != 0 || guard_->is_damaged()) {
    throw Error(ErrorKind::InvalidInput, "can't read {}: {}; open it again", path_.string(),
                std::strerror(read_error_ != 0 ? read_error_.load() : EIO));
  }
  if (*now != stamp_)
    throw Error(ErrorKind::InvalidInput, "{} was written to while it was in use: open it again", path_.string());
}

void MappedFile::copy(std::span<const std::byte> part, std::byte* to) const {
  const auto begin = static_cast<std::size_t>(part.data() - bytes_.data());
  for (std::size_t done = 0; done < part.size();) {
    const ssize_t count = ::pread(descriptor_, to + done, part.size() - done, static_cast<off_t>(begin + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count < 0) read_error_ = errno;
      std::memset(to + done, 0, part.size() - done);
      return;
    }
    done += static_cast<std::size_t>(count);
  }
}

void MappedFile::release(std::span<const std::byte> part) const {
  // The pages that are all of the part.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(part.data()) % page) % page;
  if (part.size() <= before) return;
  madvise(const_cast<std::byte*>(part.data() + before), (part.size() - before) / page * page, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  remove_mapped_address(bytes_);
  guard_.reset();
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(descriptor_);
}

}  // namespace headlight::model
