// Composition scores and OV copying in factors, against whole matrices: by hand, and by NumPy
// (tools/make_circuits_golden.py).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "attribution/head_composition.h"
#include "attribution/vocabulary_circuits.h"
#include "core/error.h"
#include "model/load_network.h"
#include "support/golden.h"
#include "support/golden_model.h"

namespace head_circuits_test {

using namespace headlight;
using namespace headlight::attribution;
using model::BlockKind;
using model::BlockRef;

namespace {

std::shared_ptr<const model::Network> network(const std::string& name) {
  const bool is_bundled = name == "captions-gpt2";
  return std::make_shared<const model::Network>(
      model::load_network(is_bundled ? std::filesystem::path(HEADLIGHT_ASSETS_DIR) / "models" / name
                                     : std::filesystem::path(test::golden_model_path(name)))
          .network);
}

BlockRef block_of(const nlohmann::json& head) {
  const std::map<std::string, BlockKind> kinds = {
      {"encoder", BlockKind::EncoderSelf}, {"decoder", BlockKind::DecoderSelf}, {"cross", BlockKind::Cross}};
  return {kinds.at(head.at(0).get<std::string>()), LayerIndex{head.at(1).get<std::uint32_t>()}};
}

std::vector<ComposedHead> composed_with(const std::shared_ptr<const model::Network>& network, BlockRef block,
                                        std::uint32_t head, std::size_t work) {
  HeadComposition composition(network, block, head);
  while (!composition.go_on(work)) continue;
  CHECK(composition.heads().size() == composition.all_heads());
  return composition.heads();
}

/// Returns the distance between both; ∞ where only one is a number.
double distance(const std::optional<double>& found, const nlohmann::json& expected) {
  if (found.has_value() == expected.is_null()) return std::numeric_limits<double>::infinity();
  if (!found) return 0.0;
  const double difference = std::abs(*found - expected.get<double>());
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

/// Layers with heads of width 1 over vectors of two numbers: W_Q, W_K, W_V and W_O of one head are vectors.
model::AttentionLayer thin_layer(std::vector<float> query, std::vector<float> key, std::vector<float> value,
                                 std::vector<float> output) {
  const auto row = [](std::vector<float> numbers) { return Tensor({1, 2}, std::move(numbers)); };
  model::AttentionLayer layer;
  layer.config = {.d_model = 2, .heads = 1, .d_k = 1, .d_v = 1};
  layer.weights = model::AttentionWeights{.query = {row(std::move(query))},
                                          .key = {row(std::move(key))},
                                          .value = {row(std::move(value))},
                                          .output = model::Linear{Tensor({2, 1}, std::move(output))}};
  return layer;
}

std::shared_ptr<const model::Network> thin_network(std::vector<model::AttentionLayer> encoder) {
  auto layers = std::make_shared<model::Layers>();
  layers->encoder = std::move(encoder);
  auto network = std::make_shared<model::Network>();
  network->layers = std::move(layers);
  return network;
}

BlockRef layer(std::uint32_t number) { return {BlockKind::EncoderSelf, LayerIndex{number}}; }

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("a head composes as much as what it writes is in the direction that is read") {
    // The first head writes (3, 4) ÷ 5; the second one's queries read x, its keys y, its values what is at right angles.
    const auto two = thin_network({thin_layer({1, 0}, {1, 0}, {1, 0}, {3, 4}),  //
                                   thin_layer({1, 0}, {0, 2}, {4, -3}, {1, 1})});
    const std::vector<ComposedHead> later = composed_with(two, layer(0), 0, 1);
    REQUIRE(later.size() == 1);
    CHECK_FALSE(later[0].writes);
    CHECK(std::abs(later[0].scores[0].value() - 0.6) < 1e-7);
    CHECK(std::abs(later[0].scores[1].value() - 0.8) < 1e-7);
    CHECK(later[0].scores[2].value() < 1e-7);
    const std::vector<ComposedHead> earlier = composed_with(two, layer(1), 0, 1'000);
    REQUIRE(earlier.size() == 1);
    CHECK(earlier[0].writes);
    CHECK(earlier[0].block == layer(0));
    CHECK(earlier[0].scores == later[0].scores);
  }

  TEST_CASE("weights of zeros compose with nothing, one layer has nothing to compose with") {
    const auto two = thin_network({thin_layer({1, 0}, {1, 0}, {0, 0}, {3, 4}), thin_layer({1, 0}, {0, 2}, {1, 1}, {1, 1})});
    const std::vector<ComposedHead> composed = composed_with(two, layer(0), 0, 1'000);
    for (const std::optional<double>& score : composed.at(0).scores) CHECK_FALSE(score);
    const auto one = thin_network({thin_layer({1, 0}, {1, 0}, {1, 0}, {3, 4})});
    CHECK(composed_with(one, layer(0), 0, 1'000).empty());
  }

  TEST_CASE("every pair of heads is what NumPy gives of whole matrices, in steps of any size") {
    double worst = 0.0;
    for (const nlohmann::json& golden : test::golden("circuits.json")) {
      const auto name = golden.at("model").get<std::string>();
      CAPTURE(name);
      const auto net = network(name);
      const nlohmann::json& heads = golden.at("heads");
      const auto index_of = [&](const ComposedHead& head) {
        const nlohmann::json wanted = {model::to_string(head.block.kind), head.block.layer.value, head.head};
        return static_cast<std::size_t>(std::ranges::find(heads, wanted) - heads.begin());
      };
      std::map<std::pair<std::size_t, std::size_t>, nlohmann::json> pairs;
      for (const nlohmann::json& pair : golden.at("compositions")) pairs[{pair[0], pair[1]}] = pair[2];
      std::size_t compared = 0;
      for (std::size_t i = 0; i < heads.size(); ++i) {
        const std::size_t work = i % 3 == 0 ? 1'000 : std::size_t{1} << 24;
        for (const ComposedHead& other : composed_with(net, block_of(heads[i]), heads[i].at(2).get<std::uint32_t>(), work)) {
          const std::size_t j = index_of(other);
          const nlohmann::json& expected = pairs.at(other.writes ? std::pair(j, i) : std::pair(i, j));
          for (std::size_t kind = 0; kind < kCompositions; ++kind) {
            worst = std::max(worst, distance(other.scores[kind], expected[kind]));
          }
          ++compared;
        }
      }
      CHECK(compared == 2 * pairs.size());
    }
    MESSAGE("largest difference of a composition score: ", worst);
    CHECK(worst < 1e-6);  // observed: 2.5e-8
  }

  TEST_CASE("copying is what NumPy gives of whole matrices") {
    double worst = 0.0;
    for (const nlohmann::json& golden : test::golden("circuits.json")) {
      const auto net = network(golden.at("model").get<std::string>());
      for (std::size_t i = 0; i < golden.at("heads").size(); ++i) {
        const nlohmann::json& head = golden.at("heads")[i];
        const BlockRef block = block_of(head);
        const model::AttentionLayer& attention = net->layer(block);
        const bool can_copy = why_no_copying(attention, block.kind).empty();
        const std::optional<double> found = can_copy ? ov_copying(attention, head.at(2).get<std::uint32_t>()) : std::nullopt;
        worst = std::max(worst, distance(found, golden.at("copying")[i]));
      }
    }
    MESSAGE("largest difference of a copying score: ", worst);
    CHECK(worst < 1e-7);  // observed: 4.9e-10
  }

  TEST_CASE("eigenvalues: all of one sign, of both signs, complex, none") {
    const std::vector<double> same = {2, 1, 0, 3}, both = {1, 0, 0, -1}, turn = {0, -1, 1, 0}, mixed = {1, -1, 1, 1};
    CHECK(std::abs(eigenvalue_ratio(same, 2).value() - 1.0) < 1e-12);
    CHECK(std::abs(eigenvalue_ratio(both, 2).value()) < 1e-12);
    CHECK(std::abs(eigenvalue_ratio(turn, 2).value()) < 1e-12);
    CHECK(std::abs(eigenvalue_ratio(mixed, 2).value() - std::sqrt(0.5)) < 1e-12);
    CHECK_FALSE(eigenvalue_ratio(std::vector<double>(4, 0.0), 2));
    CHECK_FALSE(eigenvalue_ratio(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN(), 0, 1}, 2));
    CHECK_FALSE(eigenvalue_ratio(std::vector<double>{std::numeric_limits<double>::infinity()}, 1));
  }

  TEST_CASE("what has no such weights is refused in one line") {
    const auto bare = thin_network({model::AttentionLayer{.config = {.d_model = 2, .heads = 1, .d_k = 2, .d_v = 2}}});
    CHECK(why_not_composable(*bare).find("no W_O") != std::string::npos);
    CHECK_THROWS_AS(HeadComposition(bare, layer(0), 0), Error);
    CHECK(why_no_copying(bare->layer(layer(0)), BlockKind::EncoderSelf).find("no W_O") != std::string::npos);
    CHECK(why_no_copying(bare->layer(layer(0)), BlockKind::Cross).find("cross-attention") == 0);
    const auto one = thin_network({thin_layer({1, 0}, {1, 0}, {1, 0}, {3, 4})});
    CHECK_THROWS_WITH_AS(HeadComposition(one, layer(0), 1), "this network has no such head", Error);
    for (const char* name : {"bert", "gemma2", "t5", "bloom", "qwen3", "albert"}) {
      CAPTURE(name);
      CHECK(why_not_composable(*network(name)).empty());
    }
  }
}

}  // namespace head_circuits_test
