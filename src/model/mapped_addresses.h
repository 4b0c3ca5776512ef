#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace headlight::model {

/// The position of an address in a file that this process has mapped.
struct MappedAddress {
  std::filesystem::path path;
  std::size_t offset = 0;
};

/// Every MappedFile registers its addresses, so that messages can name an address's file. Any thread.
void add_mapped_address(const std::filesystem::path& path, std::span<const std::byte> bytes);
void remove_mapped_address(std::span<const std::byte> bytes);
std::optional<MappedAddress> find_mapped_address(const std::byte* address);

}  // namespace headlight::model
