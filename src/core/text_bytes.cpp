#include "core/text_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <zlib.h>

#include "core/error.h"
#include "core/file.h"

namespace headlight {
namespace {

constexpr std::size_t kPart = std::size_t{64} << 10;
constexpr std::string_view kGzip = "\x1F\x8B";

struct Magic {
  std::string_view bytes;
  std::string_view kind;
  std::size_t offset = 0;
};

using namespace std::string_view_literals;

/// Files that people give in place of the text inside or beside them.
constexpr std::array kMagics = {
    Magic{"ARROW1"sv, "an Arrow file"},
    Magic{"\xFF\xFF\xFF\xFF"sv, "an Arrow file"},  // its stream format, in which datasets are cached
    Magic{"PAR1"sv, "a Parquet file"},
    Magic{"FEA1"sv, "a Feather file"},
    Magic{"Obj\x01"sv, "an Avro file"},
    Magic{"PK\x03\x04"sv, "a zip archive"},
    Magic{"PK\x05\x06"sv, "a zip archive"},
    Magic{"%PDF-"sv, "a PDF"},
    Magic{"BZh"sv, "compressed by bzip2"},
    Magic{"\xFD"
          "7zXZ"sv,
          "compressed by xz"},
    Magic{"\x28\xB5\x2F\xFD"sv, "compressed by zstd"},
    Magic{"\x04\x22\x4D\x18"sv, "compressed by lz4"},
    Magic{"7z\xBC\xAF\x27\x1C"sv, "a 7z archive"},
    Magic{"Rar!"sv, "a rar archive"},
    Magic{"ustar"sv, "a tar archive", 257},
    Magic{"GGUF"sv, "a GGUF model"},
    Magic{"\x93NUMPY"sv, "a NumPy array"},
    Magic{"\x89HDF"sv, "an HDF5 file"},
    Magic{"\x89PNG"sv, "an image"},
    Magic{"\xFF\xD8\xFF"sv, "an image"},
    Magic{"GIF8"sv, "an image"},
    Magic{"SQLite format 3"sv, "an SQLite database"},
    Magic{"\x7F"
          "ELF"sv,
          "a program"},
    Magic{"\xD0\xCF\x11\xE0"sv, "an Office document"},
    Magic{kGzip, "compressed by gzip twice"},
};

/// Does the file begin with a byte order mark of UTF-16? A NUL must follow, because the mark alone might be broken
/// UTF-8.
bool is_utf16(std::string_view begin) {
  return (begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF")) && begin.find('\0') != std::string_view::npos;
}

}  // namespace

/// Inflates what gzip compressed, in one part or several.
class TextBytes::Inflater {
 public:
  Inflater() : packed_(kPart) {
    constexpr int kGzipOnly = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { ::inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool has_input() const { return stream_.avail_in > 0; }

  std::size_t read(TextBytes& from, char* to, std::size_t most) {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(most, kPart));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(packed_.data());
        stream_.avail_in = static_cast<uInt>(from.read_raw(packed_.data(), packed_.size()));
        if (stream_.avail_in == 0 && is_between_parts_) return 0;
        if (stream_.avail_in == 0) fail(from);
      }
      if (is_between_parts_ && !begin_part()) continue;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw std::bad_alloc();
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) fail(from);
      is_between_parts_ = result == Z_STREAM_END;
    }
    return room - stream_.avail_out;
  }

 private:
  /// False: only the zeros with which tapes are filled up have come so far.
  bool begin_part() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return false;
    ::inflateReset(&stream_);
    is_between_parts_ = false;
    return true;
  }

  [[noreturn]] static void fail(const TextBytes& from) {
    throw Error("{} can't be unpacked: it is damaged or cut off; fetch it again", from.name());
  }

  z_stream stream_ = {};
  std::vector<char> packed_;
  bool is_between_parts_ = false;
};

TextBytes::TextBytes(const std::filesystem::path& path, bool takes_nul)
    : name_(path == kStandardInput ? "standard input" : utf8(path)),
      takes_nul_(takes_nul),
      is_file_(path != kStandardInput),
      file_(is_file_ ? open_to_read(path) : Descriptor()) {}

TextBytes::~TextBytes() = default;

std::size_t TextBytes::read_raw(char* to, std::size_t most) {
  if (given_ == ahead_.size()) return read_some(number(), to, most, name_);
  const std::size_t count = std::min(most, ahead_.size() - given_);
  std::memcpy(to, ahead_.data() + given_, count);
  given_ += count;
  return count;
}

void TextBytes::begin() {
  has_begun_ = true;
  // One part, or a short one of a pipe: what has a line's end already isn't waited for, its writer may want an answer.
  constexpr std::size_t kLongestMagic = 16;
  std::vector<char> part(kPart);
  std::size_t count = 0;
  do {
    const std::size_t more = read_some(number(), part.data() + count, kPart - count, name_);
    count += more;
    if (more == 0) break;
  } while (count < kLongestMagic && std::memchr(part.data(), '\n', count) == nullptr);
  ahead_.assign(part.data(), count);
  const std::string_view begin = ahead_;
  const bool is_packed = begin.starts_with(kGzip), is_named_so = name_.ends_with(".gz");
  if (is_file_ && is_packed && !is_named_so) {
    throw Error("{} is compressed by gzip: give it a name that ends in .gz, or unpack it", name_);
  }
  if (is_file_ && !is_packed && is_named_so && count > 0) {
    throw Error("{} isn't compressed by gzip, as its name says: give it the name of what it is", name_);
  }
  if (is_packed) inflater_ = std::make_unique<Inflater>();
}

std::size_t TextBytes::read(char* to, std::size_t most) {
  const bool is_first = !has_begun_;
  if (is_first) begin();
  const std::size_t count = inflater_ ? inflater_->read(*this, to, most) : read_raw(to, most);
  if (!is_first) return count;
  const std::string_view content(to, count);
  if (is_file_) refuse_lfs_pointer(content, name_);
  const std::string_view kind = binary_kind(content);
  if (!kind.empty()) throw Error("{} is {}, not a text: give lines of text or JSON lines, plain or as .gz", name_, kind);
  if (!takes_nul_ && content.find('\0') != std::string_view::npos) {
    throw Error("{} is a binary file (byte {} is NUL): give lines of text or JSON lines, plain or as .gz", name_,
                content.find('\0'));
  }
  return count;
}

bool TextBytes::is_ready() const {
  if (given_ < ahead_.size() || (inflater_ && inflater_->has_input())) return true;
  return platform::has_input(number());
}

std::string_view binary_kind(std::string_view begin) {
  for (const Magic& magic : kMagics) {
    if (begin.size() > magic.offset && begin.substr(magic.offset).starts_with(magic.bytes)) return magic.kind;
  }
  if (is_utf16(begin)) return "in UTF-16";
  return {};
}

}  // namespace headlight
