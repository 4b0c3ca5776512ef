// Weights stay on the device as their file stores them, and results have the bits that their numbers give as float32.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/half.h"
#include "inference/memory_estimate.h"
#include "inference/random_network.h"
#include "support/golden_model.h"
#include "support/gpu.h"
#include "support/running_session.h"

namespace stored_weights_gpu_test {

using namespace headlight;
using namespace headlight::inference;
using model::ElementType;

namespace {

std::uint64_t weight_bytes(const model::Network& network) { return estimate_memory(network, Precision::F32, 1).weights; }

/// Calls use(linear) for the linear layers of the encoder and the unembedding.
template <typename Use>
void for_each_linear(model::Layers& layers, const Use& use) {
  for (model::AttentionLayer& layer : layers.encoder) {
    for (model::Linear* linear : {&layer.weights->query, &layer.weights->key, &layer.weights->value}) use(*linear);
    if (layer.weights->output) use(*layer.weights->output);
    if (!layer.feed_forward) continue;
    use(layer.feed_forward->in);
    use(layer.feed_forward->out);
    if (layer.feed_forward->gate) use(*layer.feed_forward->gate);
  }
  if (layers.unembedding) use(layers.unembedding->linear);
}

/// The network with every linear layer changed.
template <typename Change>
std::shared_ptr<const model::Network> changed(const model::Network& network, const Change& change) {
  auto other = std::make_shared<model::Network>(network);
  auto layers = std::make_shared<model::Layers>(*network.layers);
  for_each_linear(*layers, change);
  other->layers = std::move(layers);
  return other;
}
std::shared_ptr<const model::Network> widened(const model::Network& network) {
  return changed(network, [](model::Linear& linear) { linear.weight = model::Parameter(linear.weight.tensor()); });
}

/// Random blocks whose numbers are about as large as those of a layer.
model::Parameter random_blocks(test::Random& random, ElementType type, std::uint32_t out, std::uint32_t in) {
  const std::size_t block_bytes = model::block_bytes(type);
  auto bytes = std::make_shared<std::vector<std::byte>>(std::size_t{out} * in / model::block_numbers(type) * block_bytes);
  for (std::byte& one : *bytes) one = static_cast<std::byte>(random.below(256));
  const auto put_half = [&](std::size_t at, float number) {
    const std::uint16_t bits = to_half(number);
    std::copy_n(reinterpret_cast<const std::byte*>(&bits), sizeof(bits), bytes->data() + at);
  };
  for (std::size_t at = 0; at < bytes->size(); at += block_bytes) {
    if (type == ElementType::MXFP4) {
      (*bytes)[at] = static_cast<std::byte>(118 + random.below(6));
    } else if (type == ElementType::Q6_K) {
      put_half(at + 208, 2e-5f);  // subnormal
    } else if (type == ElementType::Q8_0 || type == ElementType::Q4_0) {
      put_half(at, type == ElementType::Q8_0 ? 5e-4f : -8e-3f);
    } else {
      put_half(at, random.chance(0.5) ? 3e-6f : 2e-4f);
      put_half(at + 2, 1e-3f);
    }
  }
  const std::span<const std::byte> all(*bytes);
  return {Shape{out, in}, type, all, std::shared_ptr<const void>(bytes)};
}

}  // namespace

TEST_SUITE("gpu") {
  TEST_CASE_FIXTURE(test::OnGpu, "weights that a file has in 16 bits stay so, and results have the bits of float32") {
    for (const char* name : {"llama-bf16", "llama-f16"}) {
      CAPTURE(std::string(name));
      const auto stored = std::make_shared<const model::Network>(model::load_network(test::golden_model_path(name)).network);
      const auto wide = widened(*stored);
      std::uint64_t numbers = 0;
      for (const model::AttentionLayer& layer : stored->layers->encoder) {
        numbers += layer.weights->query.weight.element_count() + layer.weights->key.weight.element_count();
      }
      // A stored weight takes two bytes less for each number, at the least.
      CHECK(weight_bytes(*stored) + 2 * numbers < weight_bytes(*wide));
      for (const test::GoldenCase& golden : test::load_golden_cases(name)) {
        test::RunningSession session(context);
        session.run(wide, golden.input, {});
        const Tensor expected = session.logits();
        session.run(stored, golden.input, {});
        CHECK(session.logits().values == expected.values);
      }
    }
  }

  TEST_CASE("weights of blocks stay blocks on the device, and results have the bits of float32") {
    test::Random random(11);
    // Outputs that aren't whole tiles: 8 heads of 36 numbers.
    const model::AttentionConfig config{.d_model = 512, .heads = 8, .d_k = 36, .d_v = 64};
    const auto plain = test::single_layer(config, test::random_weights(random, config, true, true));
    const model::ModelInput few{.source = test::random_tokens(random, 1, 3, 512)};
    const model::ModelInput many{.source = test::random_tokens(random, 2, 40, 512)};
    for (const bool shaders_only : {false, true}) {
      test::WatchedContext context({.shaders_only = shaders_only});
      // The types are those of Q, K, V and the output; llama.cpp's Q4_K_M has Q6_K for V in half of the layers.
      using enum ElementType;
      for (const std::array<ElementType, 4>& types : {std::array{Q8_0, Q8_0, Q8_0, Q8_0},
                                                      {Q4_0, Q4_0, Q4_0, Q4_0},
                                                      {Q4_K, Q4_K, Q4_K, Q4_K},
                                                      {Q5_K, Q5_K, Q5_K, Q5_K},
                                                      {Q6_K, Q6_K, Q6_K, Q6_K},
                                                      {MXFP4, MXFP4, MXFP4, MXFP4},
                                                      {Q4_K, Q4_K, Q6_K, Q4_K},
                                                      {MXFP4, Q8_0, Q5_K, Q4_0}}) {
        CAPTURE(std::string(model::to_string(types[0])));
        CAPTURE(std::string(model::to_string(types[2])));
        CAPTURE(shaders_only);
        std::size_t next = 0;
        double block_bytes = 0.0;
        const auto stored = changed(*plain, [&](model::Linear& linear) {
          const ElementType type = types.at(next++);
          const std::uint32_t out = linear.weight.axis(0), in = linear.weight.axis(1);
          linear.weight = random_blocks(random, type, out, in);
          const double tiles = std::ceil(out / 64.0);
          block_bytes += tiles * 64 * in / model::block_numbers(type) * static_cast<double>(model::block_bytes(type));
        });
        const auto wide = widened(*stored);
        const auto taken = static_cast<double>(weight_bytes(*stored));
        CHECK(taken > block_bytes);
        CHECK(taken < block_bytes + 0.005 * static_cast<double>(weight_bytes(*wide)));  // biases
        for (const model::ModelInput* input : {&few, &many}) {
          test::RunningSession session(context);
          session.run(wide, *input, {});
          const Tensor expected = session.encoder_output();
          session.run(stored, *input, {});
          const Tensor found = session.encoder_output();
          CHECK(found.values == expected.values);
          CHECK(std::ranges::any_of(found.values, [](float number) { return std::abs(number) > 1e-3f; }));
        }
      }
    }
  }
}

}  // namespace stored_weights_gpu_test
