// `fuzz_readers --reader=NAME [libFuzzer's flags] CORPUS…` feeds one reader; scripts/test --fuzz runs all of them.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/utf8.h"
#include "fuzz/readers.h"

namespace headlight::fuzz {
namespace {

std::vector<Reader> all_readers() {
  std::vector<Reader> all;
  for (const auto& some : {model_readers(), text_readers(), capture_readers(), app_readers()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

Reader chosen;

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

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  using namespace headlight::fuzz;
  const std::vector<Reader> readers = all_readers();
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    for (const Reader& reader : readers) {
      if (argument == "--reader=" + std::string(reader.name)) chosen = reader;
    }
    if (argument != "--list") continue;
    for (const Reader& reader : readers) std::printf("%s\n", std::string(reader.name).c_str());
    std::exit(0);
  }
  if (chosen.read == nullptr) {
    std::fprintf(stderr, "say --reader=NAME; --list prints the names\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headlight::fuzz::chosen.read({reinterpret_cast<const char*>(data), size});
  return 0;
}
