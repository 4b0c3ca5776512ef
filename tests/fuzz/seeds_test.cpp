#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/atomic_file.h"
#include "fuzz/readers.h"

namespace headlight::fuzz {
namespace {

namespace fs = std::filesystem;

/// A reader's seeds in the tree, in the order of their names.
std::vector<std::string> seeds_of(const Reader& reader) {
  std::vector<fs::path> paths;
  const fs::path folder = fs::path(HEADLIGHT_GOLDEN_DIR) / "../fuzz/seeds" / reader.name;
  if (fs::exists(folder)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) seeds.push_back(read_file(path));
  return seeds;
}

}  // namespace

TEST_SUITE_BEGIN("cpu");

// A reader that takes a broken seed for a valid one, or leaves it by another exception than Error, ends the process.
TEST_CASE("every reader takes or refuses its seeds, whole, cut off and with one bit changed") {
  constexpr std::size_t kChanges = 40;
  std::size_t count = 0;
  for (const Reader& reader : all_readers()) {
    CAPTURE(reader.name);
    for (const std::string_view bytes : {"", "{}", "[[", "\xFF\xFE", "PK\x03\x04", "%PDF-1.5\nstream\n"}) reader.read(bytes);
    for (const std::string& seed : seeds_of(reader)) {
      ++count;
      reader.read(seed);
      for (std::size_t change = 0; change < kChanges && !seed.empty(); ++change) {
        const std::size_t place = change * seed.size() / kChanges;
        reader.read(std::string_view(seed).substr(0, place));
        std::string changed = seed;
        changed[place] = static_cast<char>(changed[place] ^ (1 << change % 8));
        reader.read(changed);
      }
    }
  }
  CHECK(count >= 20);
}

TEST_SUITE_END();

}  // namespace headlight::fuzz
