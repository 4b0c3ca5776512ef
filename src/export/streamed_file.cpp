#include "export/streamed_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"

namespace headlight::exporting {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int error) {
  throw Error("can't write {}: {}; choose another folder or free some space", path.string(), std::strerror(error));
}

}  // namespace

StreamedFile::StreamedFile(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_ += fmt::format(".{}.tmp", ::getpid());
  file_.reset(std::fopen(temporary_.c_str(), "wb"));
  if (!file_) fail(path_, errno);
}

StreamedFile::~StreamedFile() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void StreamedFile::append(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail(path_, errno);
}

void StreamedFile::finish() {
  if (std::fflush(file_.get()) != 0) fail(path_, errno);
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail(path_, error.value());
  file_.reset();
}

Sink StreamedFile::sink() {
  return [this](std::string_view bytes) { append(bytes); };
}

}  // namespace headlight::exporting
