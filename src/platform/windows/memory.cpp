#include <malloc.h>
#include <windows.h>

#include "platform/memory.h"
#include "platform/windows/handles.h"

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

Mapping::Mapping(int descriptor, std::size_t size, std::error_code& error) {
  const std::uint64_t bytes = size;
  const HANDLE mapping = ::CreateFileMappingW(handle_of(descriptor), nullptr, PAGE_READONLY,
                                              static_cast<DWORD>(bytes >> 32U), static_cast<DWORD>(bytes), nullptr);
  const void* const address = mapping == nullptr ? nullptr : ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size);
  if (address == nullptr) error = last_error();
  if (mapping != nullptr) ::CloseHandle(mapping);  // the view keeps it
  if (address != nullptr) bytes_ = {static_cast<const std::byte*>(address), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::UnmapViewOfFile(bytes_.data());
}

/// Windows doesn't cut a mapped file short. Reads of one on a drive that is gone end the process.
bool Mapping::is_damaged() const { return guard_ != nullptr; }

/// Unlocking pages that aren't locked takes them from the process.
void Mapping::release(std::span<const std::byte> part) {
  if (!part.empty()) ::VirtualUnlock(const_cast<std::byte*>(part.data()), part.size());
}

}  // namespace headlight::platform
