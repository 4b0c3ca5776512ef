#include "model/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "model/stored_tensor.h"

namespace headlight::model {
namespace {

constexpr std::uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;  // "PK\5\6", "PK\6\6", "PK\6\7"
constexpr std::uint32_t kEntry = 0x02014b50, kLocal = 0x04034b50;                         // "PK\1\2", "PK\3\4"
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kLongestComment = 65'535;
constexpr std::uint64_t kMaxMembers = 1'000'000;
/// Deflate makes at most 1032 bytes of one.
constexpr std::uint64_t kMaxRatio = 1032;

/// Where the directory is and how many entries it has.
struct Directory {
  std::uint64_t begin = 0, count = 0;
};

/// The record at the archive's end is found from its last byte: a comment may follow it.
std::size_t find_end(const FileCursor& cursor, std::span<const std::byte> bytes) {
  for (std::size_t back = kEndBytes; back <= std::min(bytes.size(), kEndBytes + kLongestComment); ++back) {
    const std::byte* at = bytes.data() + (bytes.size() - back);
    std::uint32_t mark = 0;
    std::uint16_t comment = 0;
    std::memcpy(&mark, at, sizeof(mark));
    std::memcpy(&comment, at + kEndBytes - sizeof(comment), sizeof(comment));
    if (mark == kEnd && comment == back - kEndBytes) return bytes.size() - back;
  }
  cursor.fail("it has no directory at its end, as a whole archive has");
}

Directory find_directory(FileCursor& cursor, std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "the archive's end";
  const std::size_t end = find_end(cursor, bytes);
  cursor.seek(end, kWhat);
  cursor.take(10, kWhat);
  Directory directory{.count = cursor.number<std::uint16_t>(kWhat)};
  cursor.take(4, kWhat);
  directory.begin = cursor.number<std::uint32_t>(kWhat);
  if (end < kLocatorBytes) return directory;
  cursor.seek(end - kLocatorBytes, kWhat);
  if (cursor.number<std::uint32_t>(kWhat) != kLocator64) return directory;
  cursor.take(4, kWhat);
  cursor.seek(cursor.number<std::uint64_t>(kWhat), kWhat);
  if (cursor.number<std::uint32_t>(kWhat) != kEnd64) cursor.fail("its 64-bit end isn't where it should be");
  cursor.take(28, kWhat);
  directory.count = cursor.number<std::uint64_t>(kWhat);
  cursor.take(8, kWhat);
  directory.begin = cursor.number<std::uint64_t>(kWhat);
  return directory;
}

/// Sizes and position of an entry that don't fit 32 bits are in an extra field, in this order.
void read_wide(FileCursor extra, std::array<std::uint64_t*, 3> values) {
  constexpr std::string_view kWhat = "an entry's extra field";
  constexpr std::uint16_t kWide = 1;
  while (extra.remaining() >= 4) {
    const auto id = extra.number<std::uint16_t>(kWhat);
    const auto length = extra.number<std::uint16_t>(kWhat);
    const std::size_t next = extra.position() + length;
    for (std::uint64_t* value : values) {
      if (id == kWide && *value == 0xffffffffu) *value = extra.number<std::uint64_t>(kWhat);
    }
    extra.seek(next, kWhat);
  }
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Unpacks until `to` is full; false when the bytes are damaged, fewer, or with `is_all` more.
bool inflate_into(std::span<const std::byte> from, std::span<std::byte> to, bool is_all) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  int status = Z_OK;
  std::byte none{};  // of an empty member
  for (std::size_t read = 0, written = 0; status == Z_OK;) {
    const std::size_t in = std::min(from.size() - read, kPiece), out = std::min(to.size() - written, kPiece);
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(from.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(to.empty() ? &none : to.data() + written);
    stream.avail_out = static_cast<uInt>(out);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += out - stream.avail_out;
  }
  const bool is_full = stream.total_out == to.size() && (!is_all || status == Z_STREAM_END);
  inflateEnd(&stream);
  return is_full;
}

}  // namespace

ZipFile::ZipFile(const std::filesystem::path& path, FormatWords words)
    : file_(std::make_shared<const MappedFile>(path)), words_(words) {
  read_directory();
  file_->expect_intact();
}

template <typename... Args>
void ZipFile::fail(const ZipMember& member, fmt::format_string<Args...> format, Args&&... args) const {
  throw Error("{}: {} '{}': {}; {}", utf8(file_->path()), words_.part, printable(member.name),
              fmt::format(format, std::forward<Args>(args)...), words_.advice);
}

void ZipFile::read_directory() {
  FileCursor cursor(*file_, file_->bytes(), words_);
  const Directory directory = find_directory(cursor, file_->bytes());
  if (directory.count > kMaxMembers) cursor.fail("it says that it has {} members", directory.count);
  cursor.seek(directory.begin, "its directory");
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    members_.push_back(read_member(cursor));
    places_.try_emplace(members_.back().name, i);
  }
}

ZipMember ZipFile::read_member(FileCursor& directory) {
  constexpr std::string_view kWhat = "an entry of its directory";
  constexpr std::uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;
  if (directory.number<std::uint32_t>(kWhat) != kEntry) directory.fail("its directory is damaged");
  directory.take(4, kWhat);
  const auto flags = directory.number<std::uint16_t>(kWhat), method = directory.number<std::uint16_t>(kWhat);
  directory.take(4, kWhat);
  ZipMember member;
  member.crc = directory.number<std::uint32_t>(kWhat);
  std::uint64_t packed = directory.number<std::uint32_t>(kWhat);
  member.size = directory.number<std::uint32_t>(kWhat);
  const auto name = directory.number<std::uint16_t>(kWhat), extra = directory.number<std::uint16_t>(kWhat),
             comment = directory.number<std::uint16_t>(kWhat);
  directory.take(8, kWhat);
  std::uint64_t begin = directory.number<std::uint32_t>(kWhat);
  member.name = directory.text(name, kWhat);
  read_wide(FileCursor(*file_, directory.take(extra, kWhat), words_), {&member.size, &packed, &begin});
  directory.take(comment, kWhat);

  FileCursor local(*file_, file_->bytes(), words_);
  const std::string label = fmt::format("'{}'", printable(member.name));
  local.seek(begin, label);
  if (local.number<std::uint32_t>(label) != kLocal) local.fail("{} isn't where its directory says", label);
  local.take(22, label);
  const auto local_name = local.number<std::uint16_t>(label), local_extra = local.number<std::uint16_t>(label);
  if (local.text(local_name, label) != member.name) local.fail("{} has another name in its directory", label);
  local.take(local_extra, label);
  member.bytes = local.take(packed, label);
  member.is_compressed = method != kStored;
  if ((flags & kEncrypted) != 0) fail(member, "it is encrypted");
  if (method != kStored && method != kDeflated) fail(member, "it is compressed by method {}, which isn't supported", method);
  if (!member.is_compressed && packed != member.size) local.fail("{} has {} bytes, not {}", label, packed, member.size);
  return member;
}

const ZipMember* ZipFile::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &members_[found->second];
}

std::vector<std::byte> ZipFile::unpacked(const ZipMember& member, std::uint64_t most) const {
  expect_possible(member);
  std::vector<std::byte> bytes(std::min(member.size, most));
  const bool is_all = bytes.size() == member.size;
  const bool is_full = inflate_into(member.bytes, bytes, is_all);
  file_->expect_intact();
  if (!is_full) fail(member, "it can't be unpacked to the {} bytes that it says", member.size);
  if (is_all && crc_of(bytes) != member.crc) fail(member, "its bytes are not those that were saved (their CRC-32 differs)");
  return bytes;
}

void ZipFile::expect_saved(const ZipMember& member) const {
  const std::uint32_t crc = crc_of(member.bytes);
  file_->expect_intact();
  if (crc != member.crc) fail(member, "its bytes are not those that were saved (their CRC-32 differs)");
}

void ZipFile::expect_possible(const ZipMember& member) const {
  if (member.size / kMaxRatio <= member.bytes.size()) return;
  fail(member, "its {} bytes claim to become {}", member.bytes.size(), member.size);
}

}  // namespace headlight::model
