#include "app/data/survey/corpus_file.h"

#include <algorithm>
#include <utility>

#include <zlib.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "core/line_reader.h"

namespace headlight::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 10;

void expect_copied(const fs::path& folder, const std::string& name, const std::error_code& error) {
  if (!error) return;
  throw Error("can't write the unpacked text of {} into {}: {}; choose another --out or free some space", name, utf8(folder),
              error.message());
}

/// Returns where the line `most` ends in a part of a text, of `size` bytes, which begins after `lines`; none: npos. Counts
/// `lines` on.
std::size_t nth_line_end(std::string_view part, std::size_t size, std::uint64_t most, std::uint64_t& lines) {
  part = part.substr(0, size);
  for (std::size_t end = part.find('\n'); end != std::string::npos; end = part.find('\n', end + 1)) {
    if (++lines == most) return end;
  }
  return std::string::npos;
}

}  // namespace

CorpusFile::CorpusFile(const fs::path& path, const fs::path& folder, CorpusFormat format)
    : path_(path == kStandardInput ? kStandardInputName : path), format_(std::move(format)) {
  TextBytes text(path);
  std::string part(kCopiedAtOnce, '\0');
  const std::size_t first = text.read(part.data(), part.size());  // refuses what is no text
  if (first == 0) throw Error("{} is empty; give a text file with a text a line", utf8(path_));
  const bool is_input = path == kStandardInput;
  if (is_input || text.is_packed()) {
    copy(text, std::string_view(part).substr(0, first), folder);
  } else {
    file_ = open_to_read(path);
    bytes_ = fs::file_size(path);
  }
  if (!is_input) {
    const std::optional<platform::FileStamp> stamp = platform::stamp_of(path);
    identity_ = fmt::format("{} ({} bytes, changed {})", utf8(path_.filename()), bytes_, stamp ? stamp->written_ns : 0);
  }
  if (format_.share < 1.0) identity_ += fmt::format(", a sample of {}", format_.share);
  if (format_.most_lines > 0) {
    if (!is_input && !text.is_packed()) cut_after(format_.most_lines);
    identity_ += fmt::format(", {} lines", format_.most_lines);
  }
  format_.takes_targets &= format_.is_json;
  if (!format_.is_json) return;
  check_first_object();
  identity_ += fmt::format(", \"{}\"{} of JSON lines", format_.field, has_targets() ? " and \"target\"" : "");
}

void CorpusFile::copy(TextBytes& text, std::string_view first, const fs::path& folder) {
  make_directories(folder);
  std::error_code error;
  file_ = platform::create_scratch(folder, error);
  expect_copied(folder, text.name(), error);
  uLong checksum = ::crc32(0, nullptr, 0);
  std::string part(first);
  part.resize(kCopiedAtOnce);
  std::uint64_t lines = 0;
  for (std::size_t count = first.size(); count > 0; count = text.read(part.data(), part.size())) {
    const std::size_t end =
        format_.most_lines == 0 ? std::string::npos : nth_line_end(part, count, format_.most_lines, lines);
    if (end < count) count = end + 1;
    expect_copied(folder, text.name(), platform::write_all(file_.number(), {part.data(), count}));
    checksum = ::crc32(checksum, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(count));
    bytes_ += count;
    if (end != std::string::npos) break;  // the rest isn't read: there may be no end of it
  }
  identity_ = fmt::format("{} ({} bytes, CRC-32 {:08x})", text.name(), bytes_, checksum);
}

void CorpusFile::cut_after(std::uint64_t most_lines) {
  std::uint64_t lines = 0;
  for (std::uint64_t offset = 0; offset < bytes_; offset += kCopiedAtOnce) {
    const std::string part = read(offset, kCopiedAtOnce);
    const std::size_t end = nth_line_end(part, part.size(), most_lines, lines);
    if (end == std::string::npos) continue;
    bytes_ = offset + end + 1;
    return;
  }
}

/// Checks the first object: a field that no object has would be found out after hours, as lines that were all skipped.
void CorpusFile::check_first_object() {
  for (std::uint64_t offset = 0; offset < bytes_;) {
    const std::string line = line_at(offset);
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      offset += line.size() + 1;
      continue;
    }
    try {
      const std::string text = tidy(line, offset);
      format_.takes_targets &= parse_json_line(text, format_.field).contains(kTargetField);
      static_cast<void>(text_of(text, offset));
    } catch (const Error& error) {
      throw Error("{}: {}", utf8(path_), error.what());
    }
    return;
  }
}

std::string CorpusFile::read(std::uint64_t offset, std::uint64_t size) const {
  std::string bytes(std::min(size, bytes_ - std::min(offset, bytes_)), '\0');
  const std::size_t count = read_at(file_.number(), bytes.data(), bytes.size(), offset, utf8(path_));
  if (count < bytes.size()) throw Error("can't read {} at byte {}: it became shorter", utf8(path_), offset + count);
  return bytes;
}

/// Returns the line without the file's byte order mark and the rest of the line's end.
std::string CorpusFile::tidy(std::string line, std::uint64_t offset) {
  strip_line_end(line);
  if (offset == 0) strip_byte_order_mark(line);
  return line;
}

CorpusShard CorpusFile::shard(std::uint64_t index) const {
  const std::uint64_t first = index * kShardBytes, end = std::min(first + kShardBytes, bytes_);
  // The reading begins a byte before: a line begins at `first` where that byte ends a line.
  const std::uint64_t from = first == 0 ? 0 : first - 1;
  std::string bytes = read(from, end - from);
  std::uint64_t read_to = end;
  CorpusShard found;
  std::size_t at = 0;
  if (first > 0) {
    const std::size_t line_end = bytes.find('\n');
    if (line_end == std::string::npos) return found;
    at = line_end + 1;
  }
  while (from + at < end) {
    std::size_t line_end = bytes.find('\n', at);
    while (line_end == std::string::npos && read_to < bytes_ && bytes.size() - at <= kLongestCorpusLine) {
      const std::size_t before = bytes.size();
      bytes += read(read_to, kShardBytes);
      read_to = from + bytes.size();
      line_end = bytes.find('\n', before);
    }
    const bool is_whole = line_end != std::string::npos || read_to >= bytes_;
    add_line(bytes.substr(at, line_end - at), from + at, is_whole, found);
    if (line_end == std::string::npos) break;
    at = line_end + 1;
  }
  return found;
}

void CorpusFile::add_line(std::string line, std::uint64_t offset, bool is_whole, CorpusShard& shard) const {
  if (static_cast<double>(evaluation::text_hash(offset)) >= format_.share * 0x1p64) return;
  const bool is_text = is_whole && line.size() <= kLongestCorpusLine && find_invalid_utf8(line) == std::string::npos;
  if (!is_text) {
    ++shard.skipped;
    return;
  }
  std::string text = tidy(std::move(line), offset);
  if (format_.is_json && text.find_first_not_of(" \t") == std::string::npos) return;
  try {
    shard.texts.push_back(text_of(std::move(text), offset));
  } catch (const Error&) {
    ++shard.skipped;
  }
}

/// Returns the text of a tidy line. Throws Error for a line of JSON that is no object with a text, or no pair.
evaluation::CorpusText CorpusFile::text_of(std::string line, std::uint64_t offset) const {
  if (!format_.is_json) return {.offset = offset, .text = std::move(line)};
  return {.offset = offset,
          .text = text_of_json_line(line, format_.field),
          .target = has_targets() ? text_of_json_line(line, kTargetField) : std::string()};
}

std::string CorpusFile::line_at(std::uint64_t offset) const {
  std::string line;
  while (line.size() < kLongestCorpusLine && offset + line.size() < bytes_) {
    const std::size_t before = line.size();
    line += read(offset + before, kShardBytes);
    if (const std::size_t end = line.find('\n', before); end != std::string::npos) {
      line.resize(end);
      break;
    }
  }
  return line;
}

evaluation::CorpusText CorpusFile::text_at(std::uint64_t offset) const {
  return text_of(tidy(line_at(offset), offset), offset);
}

}  // namespace headlight::app
