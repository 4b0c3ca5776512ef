#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
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

/// Ends of golden files' paths, and the reader that they are seeds of.
constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kGoldenSeeds = {
    {{"safetensors", ".safetensors"},
     {"capture", ".safetensors"},
     {"torch", ".pt"},
     {"npz", ".npz"},
     {"index", ".index.json"},
     {"config", "/config.json"},
     {"gguf", ".gguf"},
     {"tokenizer", "/tokenizer.json"},
     {"sentencepiece", ".model"},
     {"chat", ".jinja"},
     {"image", ".png"},
     {"image", ".jpg"},
     {"npy", ".npy"},
     {"prompts", ".jsonl"},
     {"lesson", "one-row-by-hand.json"}}};

/// Returns the small golden files that are seeds of a reader beside seeds_of().
std::vector<std::string> golden_seeds_of(const Reader& reader) {
  constexpr std::uintmax_t kLargest = 40'000;
  std::vector<fs::path> paths;
  for (const char* folder : {"", "../../assets/prompts", "../../assets/lessons"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADLIGHT_GOLDEN_DIR) / folder)) {
      const std::string path = entry.path().string();
      const bool is_seed = std::ranges::any_of(
          kGoldenSeeds, [&](const auto& one) { return one.first == reader.name && path.ends_with(one.second); });
      if (is_seed && entry.is_regular_file() && entry.file_size() <= kLargest) paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const fs::path& path : paths) seeds.push_back(read_file(path));
  return seeds;
}

/// Returns a seed with some bits, bytes and parts changed, by parts of another one too.
std::string damaged(const std::string& seed, const std::string& other, std::mt19937_64& random) {
  std::string bytes = seed;
  const auto place = [&](std::size_t size) { return size == 0 ? 0 : random() % size; };
  for (std::size_t change = 0; change <= random() % 6; ++change) {
    const std::size_t at = place(bytes.size()), count = random() % 16;
    switch (random() % 6) {
      case 0:
        bytes.erase(at, count);
        break;
      case 1:
        bytes.insert(at, bytes.substr(place(bytes.size()), count));
        break;
      case 2:
        bytes.insert(at, other.substr(place(other.size()), 4 * count));
        break;
      case 3:
        bytes.resize(at);
        break;
      case 4:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random());
        break;
      default:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    }
  }
  return bytes;
}

/// A number of the environment.
std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
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

// This is libFuzzer's run (scripts/test --fuzz) without its measuring of coverage: in the build with sanitizers .ci/run
// gives it a minute. Each reader has its share of the time, and a generator of its own, so that a finding comes again
// with the same HEADLIGHT_FUZZ_SEED and more seconds.
TEST_CASE("every reader takes or refuses damaged files for HEADLIGHT_FUZZ_SECONDS, 2 by default") {
  using Clock = std::chrono::steady_clock;
  const std::vector<Reader> readers = all_readers();
  const std::chrono::duration<double> share(static_cast<double>(number_of("HEADLIGHT_FUZZ_SECONDS", 2)) /
                                            static_cast<double>(readers.size()));
  std::size_t inputs = 0;
  for (const Reader& reader : readers) {
    CAPTURE(reader.name);
    std::vector<std::string> seeds = seeds_of(reader);
    for (std::string& seed : golden_seeds_of(reader)) seeds.push_back(std::move(seed));
    if (seeds.empty()) seeds.emplace_back("{}");
    std::mt19937_64 random(number_of("HEADLIGHT_FUZZ_SEED", 1));
    for (const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(share); Clock::now() < end;
         ++inputs) {
      reader.read(damaged(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random));
    }
  }
  MESSAGE(inputs << " damaged files for " << readers.size() << " readers");
  CHECK(inputs >= readers.size());
}

TEST_SUITE_END();

}  // namespace headlight::fuzz
