#include "export/file_array.h"

#include <sys/resource.h>

#include <bit>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file.h"
#include "files/npy.h"
#include "model/safetensors.h"
#include "model/zip_file.h"
#include "support/decode_npy.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace file_array_test {

using namespace headlight;
using namespace headlight::exporting;
using namespace headlight::files;
namespace fs = std::filesystem;

namespace {

/// 0, 1, 2, … in parts of one row each.
FileArray counted(const std::string& name, std::uint32_t rows, std::uint32_t columns) {
  return {.name = name, .shape = {rows, columns}, .parts = rows, .read = [columns](std::size_t part, std::string& bytes) {
            for (std::uint32_t column = 0; column < columns; ++column) {
              const auto value = static_cast<float>(part * columns + column);
              bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
            }
          }};
}

/// A member's bytes, which have to be stored as they are.
std::string entry_of(const fs::path& archive, const char* name) {
  const model::ZipFile zip(archive, {.kind = ".npz", .advice = "", .part = "array"});
  const model::ZipMember* member = zip.find(name);
  REQUIRE(member != nullptr);
  CHECK_FALSE(member->is_compressed);
  zip.expect_saved(*member);
  return {reinterpret_cast<const char*>(member->bytes.data()), member->bytes.size()};
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Keeps every file from growing beyond `bytes`, as on a full disk, until the destructor.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit_) == 0);
    const rlimit small{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    static_cast<void>(std::signal(SIGXFSZ, before_));
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit limit_{};
  void (*before_)(int) = nullptr;
};

using Observe = std::function<void(double share)>;

/// Reads the arrays of a file, part by part.
void write_arrays(const std::unique_ptr<ArrayFile>& file, std::span<const FileArray> arrays, const Observe& observe = {}) {
  while (const auto next = file->next()) {
    if (observe) observe(file->share());
    std::string bytes;
    arrays[next->array].read(next->part, bytes);
    file->append(bytes);
  }
  file->finish();
}

using Write = void (*)(const fs::path& path, const FileArray& array, const Observe& observe);
constexpr Write kWriters[] = {[](const fs::path& path, const FileArray& array, const Observe& observe) {
                                write_arrays(open_npy(path, array), std::span(&array, 1), observe);
                              },
                              [](const fs::path& path, const FileArray& array, const Observe& observe) {
                                write_arrays(open_npz(path, std::span(&array, 1), {}), std::span(&array, 1), observe);
                              },
                              [](const fs::path& path, const FileArray& array, const Observe& observe) {
                                write_arrays(open_safetensors(path, std::span(&array, 1), {}), std::span(&array, 1),
                                             observe);
                              }};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("safetensors are what the reader of models reads, numbers of 8 bytes first") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "numbers.safetensors";
    const float odd = -std::numeric_limits<float>::infinity();
    const std::vector<FileArray> arrays = {array_of("odd", Tensor({3}, {odd, 0.1F, 1e-42F})), counted("counted", 5, 7),
                                           array_of("ids", Shape{1, 2}, {-1, 50'256})};
    write_arrays(open_safetensors(path, arrays, {{"tokens", R"([["</script>", "\"", "·猫"]])"}}), arrays);
    const model::SafetensorsFile file(path);
    CHECK(file.metadata().at("tokens") == R"([["</script>", "\"", "·猫"]])");
    REQUIRE(file.tensors().all().size() == 3);
    for (const model::StoredTensor& tensor : file.tensors().all()) {
      if (tensor.name == "counted") {
        CHECK(tensor.shape == Shape{5, 7});
        float last = 0.0F;
        std::memcpy(&last, tensor.bytes.data() + tensor.bytes.size() - sizeof(last), sizeof(last));
        CHECK(last == 34.0F);
      } else if (tensor.name == "odd") {
        float first = 0.0F;
        std::memcpy(&first, tensor.bytes.data(), sizeof(first));
        CHECK(first == odd);
      } else {
        CHECK(tensor.type == "I64");
        CHECK(std::bit_cast<std::uintptr_t>(tensor.bytes.data()) % 8 == 0);
      }
    }
  }

  TEST_CASE("an npz has arrays of every type, and texts as they are") {
    const TemporaryDirectory folder;
    const fs::path path = folder.path() / "numbers.npz";
    const std::vector<FileArray> arrays = {counted("counted", 5, 7), array_of("tokens", {{"a", "·猫\xFF"}, {"b"}}),
                                           array_of("ids", Shape{2}, {-1, 7})};
    double share = -1.0;
    write_arrays(open_npz(path, arrays, {{"run.json", "{}\n"}}), arrays, [&](double now) {
      CHECK(now >= share);
      CHECK(now < 1.0);
      share = now;
    });
    CHECK(share > 0.5);
    CHECK(entry_of(path, "run.json") == "{}\n");
    const Tensor again = decode_npy(entry_of(path, "counted.npy"));
    CHECK(again.shape == Shape{5, 7});
    CHECK(again.at({4, 6}) == 34.0F);
    const std::string texts = entry_of(path, "tokens.npy");
    const NpyHeader header = read_npy_header(texts);
    CHECK(header.type == "<U3");
    CHECK(header.shape == Shape{2, 2});
    std::u32string found(12, U'x');
    REQUIRE(texts.size() - header.begin == found.size() * sizeof(char32_t));
    std::memcpy(found.data(), texts.data() + header.begin, found.size() * sizeof(char32_t));
    CHECK(found == std::u32string(U"a\0\0·猫\uFFFDb\0\0\0\0\0", 12));
    CHECK(read_npy_header(entry_of(path, "ids.npy")).type == "<i8");
    const std::string bytes = read_file(path);
    write_arrays(open_npz(path, arrays, {{"run.json", "{}\n"}}), arrays);
    CHECK(read_file(path) == bytes);  // no time of writing in it
  }

  TEST_CASE("an archive of more members than 16 bits count is one for readers of 64") {
    const TemporaryDirectory folder;
    std::map<std::string, std::string> texts;
    for (int i = 0; i < 70'000; ++i) texts.emplace(fmt::format("{:05}.txt", i), std::to_string(i));
    write_arrays(open_npz(folder.path() / "many.npz", {}, texts), {});
    const model::ZipFile zip(folder.path() / "many.npz", {.kind = ".npz", .advice = "", .part = "text"});
    CHECK(zip.members().size() == texts.size());
    CHECK(entry_of(folder.path() / "many.npz", "69999.txt") == "69999");
  }

  TEST_CASE("files become members as they are") {
    const TemporaryDirectory folder;
    const std::string large((std::size_t{3} << 20) + 7, 'x');
    write_file_atomically(folder.path() / "large", large);
    write_file_atomically(folder.path() / "empty", "");
    const std::vector<StoredFile> files = {{"a/large", folder.path() / "large"}, {"\u732b", folder.path() / "empty"}};
    write_zip(folder.path() / "files.zip", files, {{"summary.json", "{}"}});
    CHECK(entry_of(folder.path() / "files.zip", "a/large") == large);
    CHECK(entry_of(folder.path() / "files.zip", "\u732b").empty());
    CHECK(entry_of(folder.path() / "files.zip", "summary.json") == "{}");
  }

  TEST_CASE("a full disk, a cancelled export and a short array leave the old file whole and nothing beside it") {
    for (const Write write : kWriters) {
      const TemporaryDirectory folder;
      const fs::path path = folder.path() / "numbers";
      write(path, counted("old", 2, 2), {});
      const std::string old = read_file(path);
      {
        const SmallDisk disk(10'000);
        const std::string message = test::error_message([&] { write(path, counted("large", 100, 1000), {}); });
        CHECK(message.starts_with("can't write " + path.string()));
        CHECK(message.find("free some space") != std::string::npos);
      }
      CHECK(read_file(path) == old);
      CHECK(files_in(folder.path()) == 1);
      CHECK(test::error_message([&] {
              write(path, counted("large", 100, 1000), [](double share) {
                if (share > 0.5) throw Error("cancelled");
              });
            }) == "cancelled");
      CHECK(read_file(path) == old);
      FileArray few = counted("few", 4, 4);
      few.parts = 3;
      CHECK(test::error_message([&] { write(path, few, {}); }) == "few got 48 bytes, its shape needs 64");
      CHECK(read_file(path) == old);
      CHECK(files_in(folder.path()) == 1);
      write(path, counted("large", 100, 1000), {});
      CHECK(fs::file_size(path) > 400'000);
      CHECK(files_in(folder.path()) == 1);
    }
  }
}

}  // namespace file_array_test
