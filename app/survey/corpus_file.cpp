#include "app/survey/corpus_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/utf8.h"

namespace headlight::app {
namespace {

void strip_line_end(std::string& line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
}

}  // namespace

CorpusFile::CorpusFile(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.extension() == ".gz") {
    throw Error("{} is compressed; unpack it: a survey reads parts of a corpus, from wherever it goes on", path_.string());
  }
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw Error("can't open {}: {}", path_.string(), std::strerror(errno));
  struct stat found = {};
  const bool is_file = ::fstat(descriptor_, &found) == 0 && S_ISREG(found.st_mode);
  bytes_ = is_file ? static_cast<std::uint64_t>(found.st_size) : 0;
  if (bytes_ == 0) {
    ::close(std::exchange(descriptor_, -1));
    throw Error("{} {}; give a text file with a text a line", path_.string(), is_file ? "is empty" : "is no regular file");
  }
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  changed_ = std::int64_t{found.st_mtim.tv_sec} * kNanoseconds + found.st_mtim.tv_nsec;
}

CorpusFile::~CorpusFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string CorpusFile::read(std::uint64_t offset, std::uint64_t size) const {
  std::string bytes(std::min(size, bytes_ - std::min(offset, bytes_)), '\0');
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw Error("{} can't be read at byte {}: {}", path_.string(), offset + done,
                  count == 0 ? "it became shorter" : std::strerror(errno));
    }
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

CorpusShard CorpusFile::shard(std::uint64_t index) const {
  const std::uint64_t first = index * kShardBytes, end = std::min(first + kShardBytes, bytes_);
  // From the byte before on: a line begins at `first` where that is a line's end.
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
    while (line_end == std::string::npos && read_to < bytes_ && bytes.size() - at <= kLongestLine) {
      const std::size_t before = bytes.size();
      bytes += read(read_to, kShardBytes);
      read_to = from + bytes.size();
      line_end = bytes.find('\n', before);
    }
    const bool is_whole = line_end != std::string::npos || read_to >= bytes_;
    evaluation::CorpusText text{.offset = from + at, .text = bytes.substr(at, line_end - at)};
    if (!is_whole || text.text.size() > kLongestLine || find_invalid_utf8(text.text) != std::string::npos) {
      ++found.skipped;
    } else {
      strip_line_end(text.text);
      found.texts.push_back(std::move(text));
    }
    if (line_end == std::string::npos) break;
    at = line_end + 1;
  }
  return found;
}

std::string CorpusFile::line_at(std::uint64_t offset) const {
  std::string line;
  while (line.size() < kLongestLine && offset + line.size() < bytes_) {
    const std::size_t before = line.size();
    line += read(offset + before, kShardBytes);
    if (const std::size_t end = line.find('\n', before); end != std::string::npos) {
      line.resize(end);
      break;
    }
  }
  strip_line_end(line);
  return line;
}

}  // namespace headlight::app
