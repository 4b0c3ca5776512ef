#include "model/mapped_file.h"

#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "model/checkpoint.h"
#include "model/file_bytes.h"
#include "model/safetensors.h"
#include "support/error_message.h"
#include "support/temporary_directory.h"

namespace mapped_file_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

TEST_SUITE("cpu") {
  TEST_CASE("a file that is written to while it is mapped is an error after the read") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    const std::string content = large_file(64);
    write_file_atomically(path, content);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    weight.expect_intact();
    {
      std::fstream same_file(path, std::ios::in | std::ios::out | std::ios::binary);
      same_file.seekp(-4, std::ios::end);
      same_file << "abcd";
    }
    const std::string written = path.string() + " was written to while it was in use: open it again";
    CHECK(error_message([&] { (void)weight.tensor(); }) == written);
    CHECK(error_message([&] { weight.expect_intact(); }) == written);
  }

  TEST_CASE("a file that is replaced or deleted keeps its mapped content") {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "m.safetensors";
    write_file_atomically(path, large_file(8));
    const SafetensorsFile file(path);
    const Parameter weight = file.parameter("a");
    write_file_atomically(path, std::string_view("another, shorter"));
    weight.expect_intact();
    std::filesystem::remove(path);
    weight.expect_intact();
    const Tensor tensor = weight.tensor();
    CHECK(std::accumulate(tensor.values.begin(), tensor.values.end(), 0.0) == 8.0 * 1024.0);
  }

  TEST_CASE("30,000 tensors are opened in time linear in their number") {
    const auto seconds = [](std::uint32_t count) {
      const TemporaryDirectory folder;
      const auto path = folder.path() / "m.safetensors";
      std::string header = "{";
      for (std::uint32_t i = 0; i < count; ++i) {
        header += fmt::format(R"({}"layer.{}.weight":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})",
                              i == 0 ? "" : ",", i, 4 * i, 4 * i + 4);
      }
      write_file_atomically(path, safetensors(header + "}", std::string(std::size_t{4} * count, '\0')));
      const std::clock_t start = std::clock();
      const Checkpoint checkpoint(path);
      CHECK(checkpoint.names().size() == count);
      return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    };
    const double few = seconds(3'000), many = seconds(30'000);
    CAPTURE(few);
    CAPTURE(many);
    CHECK(many < 40.0 * few + 0.5);  // 10 times when linear, 100 when quadratic
    CHECK(many < 5.0);
  }
}

}  // namespace mapped_file_test
