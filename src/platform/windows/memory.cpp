#include "platform/memory.h"

#include <windows.h>

#include <malloc.h>

namespace headlight::platform {
namespace {

MEMORYSTATUSEX memory_status() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  ::GlobalMemoryStatusEx(&status);
  return status;
}

}  // namespace

std::uint64_t physical_bytes() { return memory_status().ullTotalPhys; }
std::uint64_t available_bytes() { return memory_status().ullAvailPhys; }
bool has_address_space(std::size_t bytes) { return memory_status().ullAvailVirtual >= bytes; }
void return_freed_memory() { ::_heapmin(); }
void use_large_pages(std::span<std::byte> /*memory*/) {}  // they need a privilege
void fetch_pages(std::span<std::byte> /*memory*/) {}

}  // namespace headlight::platform
