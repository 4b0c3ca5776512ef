// `fuzz_readers --reader=NAME [libFuzzer's flags] CORPUS…` feeds one reader; scripts/test --fuzz runs all of them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/readers.h"

namespace {

headlight::fuzz::Reader chosen;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  const std::vector<headlight::fuzz::Reader> readers = headlight::fuzz::all_readers();
  for (int i = 1; i < *count; ++i) {
    const std::string_view argument = (*arguments)[i];
    for (const headlight::fuzz::Reader& reader : readers) {
      if (argument == "--reader=" + std::string(reader.name)) chosen = reader;
    }
    if (argument != "--list") continue;
    for (const headlight::fuzz::Reader& reader : readers) std::printf("%s\n", std::string(reader.name).c_str());
    std::exit(0);
  }
  if (chosen.read == nullptr) {
    std::fprintf(stderr, "say --reader=NAME; --list prints the names\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen.read({reinterpret_cast<const char*>(data), size});
  return 0;
}
