#include "model/mapped_addresses.h"

#include <iterator>
#include <map>
#include <mutex>

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

}  // namespace headlight::model
