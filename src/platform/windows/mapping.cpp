#include "platform/mapping.h"

#include "platform/windows/handles.h"

namespace headlight::platform {

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
