#include "core/passing_files.h"

#include <random>

#include "core/error.h"
#include "core/utf8.h"
#include "platform/folders.h"

namespace headlight {
namespace {

PassingFile* passing_file = nullptr;

}  // namespace

std::filesystem::path passing_place() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) throw Error("TMPDIR names no folder for files that pass through: {}; correct it, or unset it", error.message());
  return folder;
}

PassingFolder::PassingFolder() {
  std::random_device random;
  path_ = passing_place() / fmt::format("headlight-{:08x}{:08x}", random(), random());
  std::error_code error;
  platform::make_private_folder(path_, error);
  if (error) throw Error("can't create the folder {}: {}; choose another one with TMPDIR", utf8(path_), error.message());
}

PassingFolder::~PassingFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PassingFile::PassingFile(const std::filesystem::path& path) : path_(path) { passing_file = this; }
PassingFile::~PassingFile() { passing_file = nullptr; }

PassingFile* PassingFile::at(const std::filesystem::path& path) {
  return passing_file != nullptr && passing_file->path_ == path ? passing_file : nullptr;
}

void PassingFile::read(const std::function<void(std::string_view)>& use) const {
  std::string part(std::size_t{1} << 16, '\0');
  std::size_t count = 1;
  for (std::uint64_t at = 0; count > 0; at += count) {
    count = read_at(file_.number(), part.data(), part.size(), at, utf8(path_));
    use({part.data(), count});
  }
}

}  // namespace headlight
