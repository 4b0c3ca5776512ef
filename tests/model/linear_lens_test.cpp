// Linear lenses from files: as tuned-lens saves them, and what is refused.
#include "model/linear_lens.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "core/error.h"
#include "model/file_bytes.h"
#include "support/error_message.h"

namespace linear_lens_test {

using namespace headlight;
using namespace headlight::model;
using namespace headlight::test;

namespace {

namespace fs = std::filesystem;

const fs::path kLenses = fs::path(HEADLIGHT_GOLDEN_DIR) / "lens";

/// A lens of layers of width 2 whose numbers are 0, 1, 2, …; `names` have their shapes after a blank: "0.weight [2,2]".
std::string lens_bytes(const std::vector<std::pair<std::string, std::vector<std::uint32_t>>>& tensors, float last) {
  std::string header;
  FileBytes data;
  std::size_t numbers = 0;
  for (const auto& [name, shape] : tensors) {
    const std::size_t first = numbers * sizeof(float);
    std::size_t count = 1;
    std::string axes;
    for (const std::uint32_t axis : shape) {
      count *= axis;
      axes += (axes.empty() ? "" : ",") + std::to_string(axis);
    }
    const bool is_last = &name == &tensors.back().first;
    for (std::size_t i = 0; i < count; ++i) data.number(is_last && i + 1 == count ? last : static_cast<float>(numbers + i));
    numbers += count;
    header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[)" + axes + R"(],"data_offsets":[)" +
              std::to_string(first) + "," + std::to_string(numbers * sizeof(float)) + "]}";
  }
  return safetensors(header + "}", data.bytes());
}

/// Returns the error of opening the file for a model of 2 layers of width 2, without the file's name.
std::string complaint(const std::string& bytes) {
  const TemporaryDirectory folder;
  const fs::path path = folder.path() / "lens.safetensors";
  write_file_atomically(path, bytes);
  const std::string message = error_message([&] { (void)open_linear_lens(path, 2, 2); });
  CHECK((message.empty() || is_one_line(message)));
  CHECK((message.empty() || message.find("lens.safetensors") != std::string::npos));
  const std::size_t end = message.find("lens.safetensors");
  return end == std::string::npos ? message : message.substr(end + std::string("lens.safetensors").size());
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a lens is the same from safetensors, from what torch.save() wrote, and from the folder of that") {
    const LinearLens lens = open_linear_lens(kLenses / "gpt2.safetensors", 2, 36);
    REQUIRE(lens.translators.size() == 2);
    for (const fs::path& path : {kLenses / "params.pt", kLenses}) {
      const LinearLens same = open_linear_lens(path, 2, 36);
      REQUIRE(same.translators.size() == 2);
      for (std::size_t layer = 0; layer < 2; ++layer) {
        CHECK(same.translators[layer].weight == lens.translators[layer].weight);
        CHECK(same.translators[layer].bias == lens.translators[layer].bias);
      }
    }
    CHECK(open_linear_lens(kLenses / "llama.safetensors", 2, 32).translators[1].weight.type() == ElementType::BF16);
  }

  TEST_CASE("names with a word in front, missing biases and an unembedding beside them are taken") {
    for (const std::string before : {"", "layer_translators.", "translators.", "lens."}) {
      const auto bytes = lens_bytes(
          {{before + "0.weight", {2, 2}}, {before + "0.bias", {2}}, {before + "1.weight", {2, 2}}, {"unembed.x", {3}}},
          1.0F);
      CHECK(complaint(bytes) == "");
    }
  }

  TEST_CASE("what is no lens of the model is refused by name") {
    const std::pair<std::string, std::vector<std::uint32_t>> first{"0.weight", {2, 2}}, second{"1.weight", {2, 2}};
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
    CHECK(complaint(lens_bytes({{"wte.weight", {2, 2}}}, 1.0F)).find("holds no linear lens") != std::string::npos);
    CHECK(complaint(lens_bytes({first}, 1.0F)) == ": the lens is of 1 layers, the model has 2");
    CHECK(complaint(lens_bytes({first, second, {"2.weight", {2, 2}}}, 1.0F)) ==
          ": the lens is of more layers than the model, which has 2");
    CHECK(complaint(lens_bytes({first, {"1.weight", {2, 3}}}, 1.0F)).find("1.weight") != std::string::npos);
    CHECK(complaint(lens_bytes({first, {"1.weight", {4}}}, 1.0F)).find("1.weight") != std::string::npos);
    CHECK(complaint(lens_bytes({first, second, {"1.bias", {3}}}, 1.0F)).find("1.bias") != std::string::npos);
    CHECK(complaint(lens_bytes({first, second, {"1.norm", {2}}}, 1.0F)) == ": 1.norm belongs to no linear lens");
    CHECK(complaint(lens_bytes({first, second}, kNan)) == ": 1.weight has numbers that aren't finite");
    CHECK(complaint(lens_bytes({first, second, {"1.bias", {2}}}, kInfinity)) == ": 1.bias has numbers that aren't finite");
    CHECK(complaint("no safetensors") != "");
    const std::string whole = lens_bytes({first, second}, 1.0F);
    for (std::size_t size = 0; size < whole.size(); size += 7) CHECK(complaint(whole.substr(0, size)) != "");
    CHECK(error_message([] { (void)open_linear_lens(kLenses / "nothing", 2, 2); }).find("nothing") != std::string::npos);
  }
}

}  // namespace linear_lens_test
