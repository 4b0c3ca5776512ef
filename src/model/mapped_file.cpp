#include "model/mapped_file.h"

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "core/error.h"
#include "core/file.h"

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

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  descriptor_ = platform::open_to_read(path_, error);
  if (error) throw Error("can't open {}: {}", utf8(path_), error.message());
  const std::optional<platform::FileStamp> stamp = platform::stamp_of(descriptor_.number());
  if (!stamp || stamp->kind != platform::FileKind::Regular) throw Error("can't open {}: it is not a file", utf8(path_));
  if (stamp->bytes == 0) throw Error("{} is empty: download it again", utf8(path_));
  stamp_ = *stamp;
  mapping_.emplace(descriptor_.number(), stamp_.bytes, error);
  if (error) throw Error("can't map {} into memory: {}", utf8(path_), error.message());
  refuse_lfs_pointer({reinterpret_cast<const char*>(bytes().data()), bytes().size()}, path_);
  add_mapped_address(path_, bytes());
}

void MappedFile::expect_intact() const {
  const std::optional<platform::FileStamp> now = platform::stamp_of(descriptor_.number());
  if (now && now->bytes < bytes().size()) {
    throw Error(ErrorKind::InvalidInput, "{} was cut short while it was in use: restore it and open the model again",
                utf8(path_));
  }
  if (!now || read_error_ != 0 || mapping_->is_damaged()) {
    throw Error(ErrorKind::InvalidInput, "can't read {}: {}; open it again", utf8(path_),
                read_error_ != 0 ? std::error_code(read_error_, std::system_category()).message()
                                 : std::make_error_code(std::errc::io_error).message());
  }
  // What is open stays the same file; some systems forget its device when its last name goes.
  if (now->bytes != stamp_.bytes || now->written_ns != stamp_.written_ns)
    throw Error(ErrorKind::InvalidInput, "{} was written to while it was in use: open it again", utf8(path_));
}

void MappedFile::copy(std::span<const std::byte> part, std::byte* to) const {
  const auto begin = static_cast<std::size_t>(part.data() - bytes().data());
  std::error_code error;
  const std::size_t done = platform::read_at(descriptor_.number(), reinterpret_cast<char*>(to), part.size(), begin, error);
  if (error || done < part.size()) read_error_ = error ? error.value() : static_cast<int>(std::errc::io_error);
  std::memset(to + done, 0, part.size() - done);
}

MappedFile::~MappedFile() { remove_mapped_address(bytes()); }

}  // namespace headlight::model
