#include "fuzz/readers.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/utf8.h"

namespace headlight::fuzz {
namespace {

/// Removes the folder at exit; the process that libFuzzer forks to minimise makes its own.
struct ScratchFolder {
  std::filesystem::path path;
  ScratchFolder() : path(std::filesystem::path("/dev/shm") / ("headlight-fuzz-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::vector<Reader> all_readers() {
  std::vector<Reader> all;
  for (const auto& some : {model_readers(), text_readers(), capture_readers(), app_readers()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

const std::filesystem::path& scratch_folder() {
  static const ScratchFolder kFolder;
  return kFolder.path;
}

std::filesystem::path empty_folder(std::string_view name) {
  const std::filesystem::path folder = scratch_folder() / name;
  std::filesystem::create_directories(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry);
  return folder;
}

std::filesystem::path write_scratch(std::string_view name, std::string_view bytes) {
  std::filesystem::path path = scratch_folder() / name;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
  std::fclose(file);
  return path;
}

void expect_printable(std::string_view message) {
  const bool is_printable = !message.empty() && message.size() <= kLongestMessage && one_line(message) == message;
  if (!is_printable) std::abort();
}

}  // namespace headlight::fuzz
