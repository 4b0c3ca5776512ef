#include <zip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "capture/stored_capture.h"
#include "core/error.h"
#include "files/npy.h"
#include "model/stored_tensor.h"

namespace headlight::capture {
namespace {

/// Bytes of a .npy header that are read: those of NumPy are 128, of many axes a little more.
constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;
constexpr std::size_t kMostEntries = 100'000;
/// Of all compressed arrays of a file together: their numbers are kept in memory.
constexpr std::uint64_t kMostInflated = std::uint64_t{2} << 30;
/// Deflate makes at most 1032 bytes of one.
constexpr std::uint64_t kMostRatio = 1032;

/// An open zip archive; its entries keep it alive. Not thread-safe.
class Archive {
 public:
  explicit Archive(const std::filesystem::path& path) : path_(path.string()) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure)) throw Error("can't open {}: it is not a file", path_);
    int code = 0;
    zip_ = zip_open(path_.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code);
    if (zip_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error("{} is no usable .npz file: {}; save it again with numpy.savez", path_, why);
  }
  ~Archive() { zip_discard(zip_); }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  const std::string& path() const { return path_; }
  zip_t* get() const { return zip_; }

 private:
  std::string path_;
  zip_t* zip_ = nullptr;
};

/// One entry of an archive, read from any place on if it is stored, from its beginning on if it is compressed.
class Entry {
 public:
  Entry(std::shared_ptr<const Archive> archive, const zip_stat_t& about)
      : archive_(std::move(archive)), name_(about.name), index_(about.index), size_(about.size) {}
  ~Entry() { close(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  std::uint64_t size() const { return size_; }
  const std::string& path() const { return archive_->path(); }

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw Error("{}: array '{}': {}", path(), model::printable(name_), fmt::format(format, std::forward<Args>(args)...));
  }

  /// The entry's first bytes, `most` of them if it has so many.
  std::string head(std::size_t most) {
    std::string bytes(std::min<std::uint64_t>(most, size_), '\0');
    open();
    read(reinterpret_cast<std::byte*>(bytes.data()), bytes.size());
    close();
    return bytes;
  }

  /// Of a stored entry. The first call reads it to its end, where the archive's CRC-32 is compared.
  void read_at(std::uint64_t offset, std::byte* to, std::size_t count) {
    if (!is_checked_) check_sum();
    if (file_ == nullptr) open();
    if (zip_fseek(file_, static_cast<zip_int64_t>(offset), SEEK_SET) != 0) fail("{}", zip_file_strerror(file_));
    read(to, count);
  }

  /// All bytes from `offset` on; an entry with more or fewer than it says is refused.
  std::vector<std::byte> rest(std::uint64_t offset) {
    std::vector<std::byte> bytes(size_ - offset);
    open();
    std::vector<std::byte> head(offset);
    read(head.data(), head.size());
    read(bytes.data(), bytes.size());
    std::byte more{};
    if (read_some(&more, 1) != 0) fail("it holds more than it says; save it again with numpy.savez");
    close();
    return bytes;
  }

 private:
  void open() {
    close();
    file_ = zip_fopen_index(archive_->get(), index_, 0);
    if (file_ == nullptr) fail("{}; save it again with numpy.savez", zip_strerror(archive_->get()));
  }
  void close() {
    if (file_ != nullptr) zip_fclose(file_);
    file_ = nullptr;
  }
  void check_sum() {
    std::vector<std::byte> piece(std::min<std::uint64_t>(size_, std::uint64_t{1} << 20));
    open();
    while (read_some(piece.data(), piece.size()) > 0) {
    }
    close();
    is_checked_ = true;
  }
  /// 0 at the end, where libzip compares the CRC-32 of all that was read since open().
  std::size_t read_some(std::byte* to, std::size_t count) {
    const zip_int64_t some = zip_fread(file_, to, count);
    if (some >= 0) return static_cast<std::size_t>(some);
    if (zip_error_code_zip(zip_file_get_error(file_)) == ZIP_ER_CRC) {
      fail("its bytes are not those that were saved (their CRC-32 differs); copy the file again, or save it again");
    }
    fail("{}; save it again with numpy.savez", zip_file_strerror(file_));
  }
  void read(std::byte* to, std::size_t count) {
    std::size_t done = 0;
    while (done < count) {
      const std::size_t some = read_some(to + done, count - done);
      if (some == 0) fail("it ends after {} of {} bytes; save it again with numpy.savez", done, count);
      done += some;
    }
  }

  std::shared_ptr<const Archive> archive_;
  std::string name_;
  zip_uint64_t index_ = 0;
  std::uint64_t size_ = 0;
  zip_file_t* file_ = nullptr;
  bool is_checked_ = false;
};

/// An array of an archive. A compressed one is in memory from the first read on.
class NpzNumbers final : public Numbers {
 public:
  NpzNumbers(std::string name, Shape shape, NumberType type, std::shared_ptr<Entry> entry, std::uint64_t begin,
             bool is_compressed)
      : Numbers(std::move(name), std::move(shape)),
        type_(type),
        entry_(std::move(entry)),
        begin_(begin),
        is_compressed_(is_compressed) {}

  void read(const Rectangle& cells, float* to) const override {
    if (is_compressed_ && inflated_.empty()) inflated_ = entry_->rest(begin_);
    const std::size_t width = byte_count(type_);
    std::vector<std::byte> line(is_compressed_ ? 0 : cells.columns * width);
    for (std::uint32_t row = 0; row < cells.rows; ++row) {
      const std::size_t at = element(cells, row) * width;
      if (!is_compressed_) entry_->read_at(begin_ + at, line.data(), line.size());
      const std::byte* from = is_compressed_ ? inflated_.data() + at : line.data();
      rounded_ += decode(type_, from, cells.columns, to + std::size_t{row} * cells.columns);
    }
  }
  std::uint64_t rounded() const override { return rounded_; }

 private:
  NumberType type_;
  std::shared_ptr<Entry> entry_;
  std::uint64_t begin_ = 0;
  bool is_compressed_ = false;
  mutable std::vector<std::byte> inflated_;
  mutable std::uint64_t rounded_ = 0;
};

std::optional<NumberType> number_type_of(std::string_view type, Content content) {
  if (type == "<f4") return NumberType::F32;
  if (type == "<f2") return NumberType::F16;
  if (type == "<f8") return NumberType::F64;
  if (type == "|u1" && content == Content::Pixels) return NumberType::U8;
  return std::nullopt;
}

files::NpyHeader header_of(Entry& entry, Content content) {
  files::NpyHeader header;
  const std::string head = entry.head(kHeaderBytes);
  try {
    header = files::read_npy_header(head, entry.size());
  } catch (const Error& error) {
    entry.fail("{}", error.what());
  }
  if (header.is_fortran) entry.fail("it is stored column by column; save numpy.ascontiguousarray of it");
  if (!number_type_of(header.type, content)) {
    const bool is_image = content == Content::Pixels;
    entry.fail("numbers of type {} are no {}; save it as {}float32, float16 or float64", header.type,
               is_image ? "image" : "attention", is_image ? "uint8, " : "");
  }
  return header;
}

}  // namespace

StoredCapture read_npz_capture(const std::filesystem::path& path, ContentOf content_of) {
  const auto archive = std::make_shared<const Archive>(path);
  const zip_int64_t count = zip_get_num_entries(archive->get(), 0);
  if (count < 0 || std::cmp_greater(count, kMostEntries)) throw Error("{} has too many entries", path.string());
  StoredCapture stored;
  std::uint64_t inflated = 0;
  for (zip_uint64_t index = 0; std::cmp_less(index, count); ++index) {
    zip_stat_t about;
    zip_stat_init(&about);
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive->get(), index, 0, &about) != 0 || (about.valid & kNeeded) != kNeeded) {
      throw Error("{}: entry {} says neither name nor size; save it again with numpy.savez", path.string(), index);
    }
    std::string_view name = about.name;
    constexpr std::string_view kSuffix = ".npy";
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    const Content content = content_of(name);
    if (content == Content::None) continue;
    const auto entry = std::make_shared<Entry>(archive, about);
    const bool is_compressed = about.comp_method != ZIP_CM_STORE;
    if (is_compressed) {
      if (about.size > kMostInflated || about.size / kMostRatio > about.comp_size) {
        entry->fail("its {} bytes claim to become {}; save it with numpy.savez, without compression", about.comp_size,
                    about.size);
      }
      inflated += about.size;
      if (inflated > kMostInflated) {
        throw Error(
            "{}: its compressed arrays would take more than {} GiB of memory; save it with numpy.savez, without "
            "compression",
            path.string(), kMostInflated >> 30);
      }
    }
    files::NpyHeader header;
    try {
      header = header_of(*entry, content);
    } catch (const Error& error) {
      if (content != Content::Pixels) throw;
      stored.arrays.push_back({.name = std::string(name), .shape = {}, .open = {}, .problem = error.what()});
      continue;
    }
    const NumberType type = *number_type_of(header.type, content);
    stored.arrays.push_back({.name = std::string(name),
                             .shape = header.shape,
                             .open = [name = std::string(name), type, entry, begin = header.begin,
                                      is_compressed](Shape four_axes) -> std::shared_ptr<const Numbers> {
                               return std::make_shared<const NpzNumbers>(name, std::move(four_axes), type, entry, begin,
                                                                         is_compressed);
                             }});
  }
  return stored;
}

}  // namespace headlight::capture
