#include "export/file_array.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "export/json.h"
#include "export/markup.h"
#include "files/npy.h"

namespace headlight::exporting {

namespace {

static_assert(std::endian::native == std::endian::little, "values are written as in memory");

/// An array whose bytes are in memory.
FileArray array_in_memory(FileArray array, std::string bytes) {
  array.read = [bytes = std::make_shared<const std::string>(std::move(bytes))](std::size_t, std::string& to) {
    to += *bytes;
  };
  return array;
}

/// An npy, or a safetensors whose header is there.
class PlainArrayFile final : public ArrayFile {
 public:
  PlainArrayFile(const std::filesystem::path& path, std::span<const FileArray> arrays, std::string_view header)
      : ArrayFile(arrays), file_(path) {
    file_.append(header);
    // Numbers of 8 bytes first, so that each array begins at a multiple of its numbers' size.
    std::ranges::stable_sort(order_, std::greater<>(), [&](std::size_t array) { return arrays_[array].value_size(); });
  }
  void finish() override { file_.finish(); }

 protected:
  void write(std::string_view bytes) override { file_.append(bytes); }

 private:
  AtomicFile file_;
};

const char* safetensors_type(const FileArray& array) {
  if (array.type == ArrayType::Text) throw Error("{} holds texts, and .safetensors has numbers only", array.name);
  return array.type == ArrayType::F32 ? "F32" : "I64";
}

}  // namespace

std::string FileArray::npy_header() const {
  if (type == ArrayType::Text) return files::npy_header(fmt::format("<U{}", text_length), shape);
  return files::npy_header(type == ArrayType::F32 ? "<f4" : "<i8", shape);
}

std::size_t FileArray::value_size() const {
  if (type == ArrayType::Text) return std::size_t{4} * text_length;
  return type == ArrayType::F32 ? 4 : 8;
}

std::uint64_t FileArray::byte_count() const { return std::uint64_t{element_count(shape)} * value_size(); }

ArrayFile::ArrayFile(std::span<const FileArray> arrays) : arrays_(arrays.begin(), arrays.end()) {
  for (FileArray& array : arrays_) {
    array.read = {};
    total_ += array.byte_count();
    order_.push_back(order_.size());
  }
}

std::optional<ArrayFile::Part> ArrayFile::next() const {
  return at_ < order_.size() ? std::optional(Part{.array = order_[at_], .part = part_}) : std::nullopt;
}

void ArrayFile::append(std::string_view bytes) {
  const FileArray& array = arrays_[order_[at_]];
  if (part_ == 0) begin(array);
  write(bytes);
  found_ += bytes.size();
  written_ += bytes.size();
  if (++part_ < array.parts) return;
  if (found_ != array.byte_count())
    throw Error("{} got {} bytes, its shape needs {}", array.name, found_, array.byte_count());
  end();
  ++at_;
  part_ = found_ = 0;
}

void append_numbers(std::span<const float> values, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

std::unique_ptr<ArrayFile> open_npy(const std::filesystem::path& path, const FileArray& array) {
  return std::make_unique<PlainArrayFile>(path, std::span(&array, 1), array.npy_header());
}

std::unique_ptr<ArrayFile> open_safetensors(const std::filesystem::path& path, std::span<const FileArray> arrays,
                                            const std::map<std::string, std::string>& metadata) {
  Json header = {{"__metadata__", Json::object()}};
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = text;
  std::vector<const FileArray*> order;  // PlainArrayFile's
  for (const FileArray& array : arrays) order.push_back(&array);
  std::ranges::stable_sort(order, std::greater<>(), &FileArray::value_size);
  std::uint64_t end = 0;
  for (const FileArray* array : order) {
    const std::uint64_t begin = end;
    end += array->byte_count();
    header[array->name] = {{"dtype", safetensors_type(*array)}, {"shape", array->shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = to_text(header, -1);
  constexpr std::size_t kAlignment = 8;
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  std::string size(sizeof(std::uint64_t), '\0');
  const std::uint64_t length = text.size();
  std::memcpy(size.data(), &length, sizeof(length));
  return std::make_unique<PlainArrayFile>(path, arrays, size + text);
}

FileArray array_of(std::string name, Tensor tensor) {
  FileArray array{.name = std::move(name), .shape = tensor.shape, .read = {}};
  array.read = [tensor = std::make_shared<const Tensor>(std::move(tensor))](std::size_t, std::string& to) {
    append_numbers(tensor->values, to);
  };
  return array;
}

FileArray array_of(std::string name, const std::vector<std::vector<std::string>>& texts) {
  std::vector<std::vector<std::u32string>> points;
  std::size_t columns = 0, longest = 1;
  for (const std::vector<std::string>& row : texts) {
    std::vector<std::u32string>& line = points.emplace_back();
    for (const std::string& text : row) longest = std::max(longest, line.emplace_back(code_points(text)).size());
    columns = std::max(columns, row.size());
  }
  std::u32string all;
  all.reserve(points.size() * columns * longest);
  for (std::vector<std::u32string>& line : points) {
    line.resize(columns);
    for (std::u32string& text : line) {
      text.resize(longest);
      all += text;
    }
  }
  return array_in_memory({.name = std::move(name),
                          .type = ArrayType::Text,
                          .text_length = static_cast<std::uint32_t>(longest),
                          .shape = {static_cast<std::uint32_t>(points.size()), static_cast<std::uint32_t>(columns)},
                          .read = {}},
                         std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(char32_t)));
}

FileArray array_of(std::string name, Shape shape, std::vector<std::int64_t> numbers) {
  return array_in_memory({.name = std::move(name), .type = ArrayType::I64, .shape = std::move(shape), .read = {}},
                         std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)));
}

// Zip archives of stored members (format: PKWARE's APPNOTE.TXT), with 64-bit sizes and positions where they are needed.

namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kEntryHeader = 0x02014b50,
                        kArchiveEnd = 0x06054b50;                              // "PK\3\4", "PK\1\2", "PK\5\6"
constexpr std::uint32_t kArchiveEnd64 = 0x06064b50, kEndLocator = 0x07064b50;  // "PK\6\6", "PK\6\7"
constexpr std::uint64_t kZipWide = 0xffff'ffff, kZipMany = 0xffff;  ///< from these on a number has 64 bits elsewhere
constexpr std::uint64_t kCrcAt = 14;                                ///< in a local header
constexpr std::uint16_t kZipVersion = 45;                           ///< version 4.5 of the format

/// The bytes of numbers as a little-endian processor has them.
template <typename... Numbers>
std::string zip_bytes(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers)), ...);
  return bytes;
}

constexpr std::uint16_t u16(std::uint64_t number) { return static_cast<std::uint16_t>(std::min(number, kZipMany)); }
constexpr std::uint32_t u32(std::uint64_t number) { return static_cast<std::uint32_t>(std::min(number, kZipWide)); }

struct ZipEntry {
  std::string name;
  std::uint64_t size = 0, begin = 0;  ///< `begin`: of its local header
  std::uint32_t crc = 0;

  /// Numbers that need 64 bits.
  std::string extra(bool is_local) const {
    std::string wide;
    if (size >= kZipWide) wide += zip_bytes(size, size);
    if (!is_local && begin >= kZipWide) wide += zip_bytes(begin);
    return wide.empty() ? wide : zip_bytes(std::uint16_t{1}, u16(wide.size())) + wide;
  }
  /// The fields that both headers have. The date is 1980-01-02, so that the same numbers make the same file.
  std::string fields(bool is_local) const {
    constexpr std::uint16_t kUtf8 = 0x800, kStored = 0, kTime = 0, kDate = 0x22;
    return zip_bytes(kZipVersion, kUtf8, kStored, kTime, kDate, crc, u32(size), u32(size), u16(name.size()),
                     u16(extra(is_local).size()));
  }
};

/// An archive that is being made; without close() nothing is written.
class NewArchive {
 public:
  explicit NewArchive(std::filesystem::path path) : path_(std::move(path)), staged_(path_) {
    std::error_code error;
    file_ = platform::create_file(staged_.temporary(), error);
    expect_written(error);
  }

  void begin(const std::string& name, std::uint64_t size) {
    members_.push_back({.name = name, .size = size, .begin = end_});
    const ZipEntry& member = members_.back();
    append(zip_bytes(kLocalHeader) + member.fields(true) + name + member.extra(true));
    begin_ = end_;
  }
  void add(std::string_view part) {
    ZipEntry& member = members_.back();
    member.crc = static_cast<std::uint32_t>(crc32_z(member.crc, reinterpret_cast<const Bytef*>(part.data()), part.size()));
    append(part);
  }
  void end() {
    const ZipEntry& member = members_.back();
    if (end_ - begin_ != member.size)
      throw Error("{} of {} changed while it was written; write it again", member.name, utf8(path_));
    expect_written(platform::write_at(file_.number(), zip_bytes(member.crc), member.begin + kCrcAt));
  }
  void add(const std::string& name, std::string_view text) {
    begin(name, text.size());
    add(text);
    end();
  }

  void close() {
    const std::uint64_t begin = end_, count = members_.size();
    for (const ZipEntry& member : members_) {
      constexpr std::uint16_t kNone = 0, kByUnix = 3U << 8U | kZipVersion;
      constexpr std::uint32_t kMode = 0100644U << 16U;
      append(zip_bytes(kEntryHeader, kByUnix) + member.fields(false) +
             zip_bytes(kNone, kNone, kNone, kMode, u32(member.begin)) + member.name + member.extra(false));
    }
    const std::uint64_t size = end_ - begin;
    constexpr std::uint32_t kDisk = 0, kDisks = 1;
    if (count >= kZipMany || begin >= kZipWide || size >= kZipWide) {
      const std::uint64_t end = end_, rest = 44;
      append(zip_bytes(kArchiveEnd64, rest, kZipVersion, kZipVersion, kDisk, kDisk, count, count, size, begin));
      append(zip_bytes(kEndLocator, kDisk, end, kDisks));
    }
    append(zip_bytes(kArchiveEnd, kDisk, u16(count), u16(count), u32(size), u32(begin), std::uint16_t{0}));
    file_ = {};
    staged_.finish();
  }

 private:
  void expect_written(const std::error_code& error) const {
    if (error) throw Error("can't write {}: {}; choose another folder or free some space", utf8(path_), error.message());
  }
  void append(std::string_view bytes) {
    expect_written(platform::write_all(file_.number(), bytes));
    end_ += bytes.size();
  }

  std::filesystem::path path_;
  StagedPath staged_;
  Descriptor file_;
  std::uint64_t begin_ = 0, end_ = 0;  ///< of the last member's bytes
  std::vector<ZipEntry> members_;
};

class NpzFile final : public ArrayFile {
 public:
  NpzFile(const std::filesystem::path& path, std::span<const FileArray> arrays, std::map<std::string, std::string> texts)
      : ArrayFile(arrays), archive_(path), texts_(std::move(texts)) {}
  void finish() override {
    for (const auto& [name, text] : texts_) archive_.add(name, text);
    archive_.close();
  }

 protected:
  void begin(const FileArray& array) override {
    const std::string header = array.npy_header();
    archive_.begin(array.name + ".npy", header.size() + array.byte_count());
    archive_.add(header);
  }
  void write(std::string_view bytes) override { archive_.add(bytes); }
  void end() override { archive_.end(); }

 private:
  NewArchive archive_;
  std::map<std::string, std::string> texts_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_npz(const std::filesystem::path& path, std::span<const FileArray> arrays,
                                    std::map<std::string, std::string> texts) {
  return std::make_unique<NpzFile>(path, arrays, std::move(texts));
}

void write_zip(const std::filesystem::path& path, std::span<const StoredFile> files,
               const std::map<std::string, std::string>& texts) {
  NewArchive archive(path);
  std::string part(std::size_t{1} << 20, '\0');
  for (const StoredFile& file : files) {
    const Descriptor from = open_to_read(file.path);
    const std::uint64_t size = platform::stamp_of(from.number()).value_or(platform::FileStamp{}).bytes;
    archive.begin(file.name, size);
    while (const std::size_t count = read_some(from.number(), part.data(), part.size(), utf8(file.path)))
      archive.add(std::string_view(part).substr(0, count));
    archive.end();
  }
  for (const auto& [name, text] : texts) archive.add(name, text);
  archive.close();
}

}  // namespace headlight::exporting
