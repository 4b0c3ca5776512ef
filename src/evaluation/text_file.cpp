#include "evaluation/text_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <system_error>

#include <zlib.h>

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/utf8.h"

namespace headlight::evaluation {
namespace {

namespace fs = std::filesystem;

struct Close {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

/// gzread() reads uncompressed files unchanged.
std::string read_unpacked(const fs::path& path) {
  if (fs::is_directory(path)) throw Error("{} is a folder: name a text file", path.string());
  // A pipe or a device may have no end, and opening one may block.
  if (fs::exists(path) && !fs::is_regular_file(path))
    throw Error("{} is a pipe or a device: name a text file", path.string());
  errno = 0;
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) throw Error("{} can't be read: {}", path.string(), std::generic_category().message(errno));
  std::string content;
  std::array<char, 1u << 16> part;
  while (true) {
    const int bytes = gzread(file.get(), part.data(), static_cast<unsigned>(part.size()));
    if (bytes > 0) content.append(part.data(), static_cast<std::size_t>(bytes));
    if (content.size() > kLargestFile) throw Error("{} has more than {} bytes of text", path.string(), kLargestFile);
    if (bytes < static_cast<int>(part.size())) break;
  }
  int failure = Z_OK;
  gzerror(file.get(), &failure);
  if (failure == Z_ERRNO) throw Error("{} can't be read: {}", path.string(), std::generic_category().message(errno));
  if (failure != Z_OK && failure != Z_STREAM_END) {
    throw Error("{} can't be unpacked: it is damaged or cut off; fetch it again", path.string());
  }
  return content;
}

}  // namespace

std::vector<std::string> read_lines(const fs::path& path) {
  const std::string content = read_unpacked(path);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::string line = content.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (find_invalid_utf8(line) != std::string::npos)
      throw Error("{} line {} is not UTF-8: convert the file", path.string(), lines.size() + 1);
    lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (lines.empty()) throw Error("{} is empty: it needs a line of text at least", path.string());
  return lines;
}

}  // namespace headlight::evaluation
