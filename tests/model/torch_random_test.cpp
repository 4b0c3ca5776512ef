#include "model/torch_random.h"

#include <doctest/doctest.h>

#include <bit>
#include <string>

#include "support/golden.h"

namespace torch_random_test {

using namespace headlight;
using model::TorchRandom;

namespace {

/// The numbers of one call, as the golden file orders them.
std::vector<float> draw(TorchRandom& random, const nlohmann::json& call) {
  const auto sizes = call.at("sizes").get<Shape>();
  const std::string kind = call.at("kind").get<std::string>();
  if (kind == "rand") return random.rand(sizes).values;
  if (kind == "randn") return random.randn(sizes).values;
  if (kind == "embedding") return random.embedding(sizes[0], sizes[1]).values;
  model::Linear linear = random.linear(sizes[0], sizes[1], sizes[2] != 0);
  std::vector<float> values = linear.weight.tensor().values;
  const std::vector<float> bias = linear.bias.tensor().values;
  values.insert(values.end(), bias.begin(), bias.end());
  return values;
}

std::uint64_t bit_sum(const std::vector<float>& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += (i + 1) * std::bit_cast<std::uint32_t>(values[i]);
  return sum;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("every draw has the bits of PyTorch 1.13") {
    const nlohmann::json golden = test::golden("torch_random.json");
    REQUIRE(golden.at("sequences").size() == 7);
    for (const nlohmann::json& sequence : golden.at("sequences")) {
      TorchRandom random(sequence.at("seed").get<std::uint64_t>());
      for (const nlohmann::json& call : sequence.at("draws")) {
        INFO("seed ", sequence.at("seed").dump(), ": ", call.at("kind").dump(), call.at("sizes").dump());
        const std::vector<float> values = draw(random, call);
        // No bit differs, not in 320,000 large normals either.
        if (call.contains("values")) {
          CHECK(test::is_same(values, call.at("values")));
        } else {
          CHECK(std::to_string(bit_sum(values)) == call.at("bit_sum").get<std::string>());
        }
      }
    }
  }

  TEST_CASE("whole numbers are those of torch.randint") {
    TorchRandom random(7);
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < 6; ++i) numbers.push_back(random.randint(-50, 50));
    CHECK(numbers == std::vector<std::int64_t>{-35, 42, -29, 36, 33, -3});  // PyTorch 2.15
  }

  TEST_CASE("a seed restarts the sequence, regardless of earlier draws") {
    TorchRandom first(5);
    first.randn({3});  // leaves the second value of a pair
    first = TorchRandom(5);
    TorchRandom second(5);
    CHECK(first.randn({4}).values == second.randn({4}).values);
    CHECK(TorchRandom(5).rand({4}).values != TorchRandom(6).rand({4}).values);
  }

  TEST_CASE("shapes are those of PyTorch's modules") {
    TorchRandom random(1);
    CHECK(random.linear(3, 2).weight.shape() == Shape{2, 3});
    CHECK(random.linear(3, 2).bias.shape() == Shape{2});
    CHECK_FALSE(random.linear(3, 2, false).has_bias());
    CHECK(random.embedding(4, 6).shape == Shape{4, 6});
    CHECK_THROWS(random.linear(0, 2));
  }
}

}  // namespace torch_random_test
