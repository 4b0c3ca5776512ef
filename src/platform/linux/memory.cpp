#include "platform/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

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

}  // namespace headlight::platform
