#include "model/mapped_places.h"

#include <iterator>
#include <map>
#include <mutex>

namespace headlight::model {
namespace {

struct Mapped {
  std::size_t size = 0;
  std::filesystem::path path;
};

struct Places {
  std::mutex mutex;
  std::map<const std::byte*, Mapped> begins;
};

Places& places() {
  static Places instance;
  return instance;
}

}  // namespace

void add_mapped_place(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::scoped_lock lock(places().mutex);
  places().begins[bytes.data()] = {bytes.size(), path};
}

void remove_mapped_place(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(places().mutex);
  places().begins.erase(bytes.data());
}

std::optional<MappedPlace> find_mapped_place(const std::byte* address) {
  const std::scoped_lock lock(places().mutex);
  const auto next = places().begins.upper_bound(address);
  if (next == places().begins.begin()) return std::nullopt;
  const auto& [begin, mapped] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(address - begin);
  return offset < mapped.size ? std::optional(MappedPlace{mapped.path, offset}) : std::nullopt;
}

}  // namespace headlight::model
