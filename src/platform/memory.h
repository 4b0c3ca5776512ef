#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headlight::platform {

/// Bytes of memory that this computer has.
std::uint64_t physical_bytes();
/// Bytes that the system calls available to programs now; 0 where it doesn't say.
std::uint64_t available_bytes();
/// Could this process use so many bytes of addresses more? Asked of processes that have a limit; true for others.
bool has_address_space(std::size_t bytes);
/// Returns what was freed to the system.
void return_freed_memory();

/// Bytes of a large page, where the system has them.
inline constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;
/// Asks for large pages for what of the memory is whole ones. Where the system has none, nothing is lost.
void use_large_pages(std::span<std::byte> memory);
/// Gives memory its pages before the first write to it; what is in pages already stays. Where the system can't, the first
/// write does.
void fetch_pages(std::span<std::byte> memory);

}  // namespace headlight::platform
