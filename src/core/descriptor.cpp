#include "core/descriptor.h"

#include "core/error.h"

namespace headlight {
namespace {

void expect_read(const std::string& name, const std::error_code& error) {
  if (error) throw Error("can't read {}: {}", name, error.message());
}

/// A read that gives nothing before the file's end, as network file systems do, would pass for its end.
[[noreturn]] void fail_short(const std::string& name) {
  throw Error("can't read {}: a read ended before the file's end; try again", name);
}

}  // namespace

Descriptor open_to_read(const std::filesystem::path& path) {
  std::error_code error;
  Descriptor file = platform::open_to_read(path, error);
  platform::FileKind kind = platform::FileKind::Regular;
  if (file) {
    const std::optional<platform::FileStamp> stamp = platform::stamp_of(file.number());
    if (!stamp) error = std::make_error_code(std::errc::io_error);
    if (stamp) kind = stamp->kind;
  }
  if (kind == platform::FileKind::Folder) error = std::make_error_code(std::errc::is_a_directory);
  expect_read(utf8(path), error);
  if (kind == platform::FileKind::Other) throw Error("can't read {}: it is a pipe or a device, not a file", utf8(path));
  return file;
}

std::size_t read_some(int descriptor, char* to, std::size_t most, const std::string& name) {
  std::error_code error;
  const std::size_t count = platform::read_some(descriptor, to, most, error);
  expect_read(name, error);
  if (count == 0 && most > 0 && platform::has_more(descriptor)) fail_short(name);
  return count;
}

std::size_t read_at(int descriptor, char* to, std::size_t count, std::uint64_t offset, const std::string& name) {
  std::error_code error;
  const std::size_t done = platform::read_at(descriptor, to, count, offset, error);
  expect_read(name, error);
  const std::optional<platform::FileStamp> stamp = platform::stamp_of(descriptor);
  if (done < count && stamp && offset + done < stamp->bytes) fail_short(name);
  return done;
}

}  // namespace headlight
