#include "core/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include "core/error.h"
#include "core/lfs_pointer.h"

namespace headlight {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw Error("can't write {}: {}; choose another folder or free some space", path.string(), std::strerror(error));
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}.tmp", ::getpid());
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "wb"));
  if (!file) fail(path, errno);
  const bool is_written =
      std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() && std::fflush(file.get()) == 0;
  const int write_error = errno;
  const bool is_closed = std::fclose(file.release()) == 0;
  if (!is_written || !is_closed) {
    std::remove(temporary.c_str());
    fail(path, is_written ? errno : write_error);
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::remove(temporary.c_str());
    fail(path, error.value());
  }
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content) {
  write_file_atomically(path, std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || (file.peek() != std::ifstream::traits_type::eof() && !(content << file.rdbuf()))) {
    throw Error("can't read {}: {}", path.string(), std::strerror(errno));
  }
  std::string text = std::move(content).str();
  refuse_lfs_pointer(text, path);
  return text;
}

void make_directories(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error("can't create the folder {}: {}; choose another one", directory.string(), error.message());
}

}  // namespace headlight
