// Zip archives of stored members (format: PKWARE's APPNOTE.TXT), with 64-bit sizes and positions where they are needed.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/atomic_file.h"
#include "core/error.h"
#include "export/file_array.h"

namespace headlight::exporting {
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
