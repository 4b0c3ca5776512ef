// A layer's graph against passes of the reference: its stages are the tensors that a pass leaves, with their sizes, and each
// follows from its inputs by its operation.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

#include "attention/layer_graph.h"
#include "inference/random_network.h"
#include "inference/reference_run.h"
#include "inference/run.h"
#include "model/load_network.h"
#include "support/golden_model.h"
#include "support/stages.h"

namespace layer_graph_test {

using namespace headlight;
using attention::LayerGraph, attention::LayerNode, attention::LayerOperation, attention::Stage;
using model::reference::Array;

namespace {

/// Every cell [batch, head, row, column] of `like` as cell(batch, head, row, column).
template <typename Cell>
Array cells_like(const Array& like, const Cell& cell) {
  Array made{.shape = like.shape, .values = {}};
  for (std::uint32_t b = 0; b < like.shape[0]; ++b)
    for (std::uint32_t h = 0; h < like.shape[1]; ++h)
      for (std::uint32_t r = 0; r < like.shape[2]; ++r)
        for (std::uint32_t c = 0; c < like.shape[3]; ++c) made.values.push_back(cell(b, h, r, c));
  return made;
}

double at(const Array& from, std::size_t b, std::size_t h, std::size_t r, std::size_t c) {
  return from.values[((b * from.shape[1] + h) * from.shape[2] + r) * from.shape[3] + c];
}

struct Pass {
  const model::AttentionLayer& layer;
  const model::reference::AttentionStages& stages;
  const Array& memory;

  const Array& of(Stage stage) const { return stages[stage]; }
};

Array sum_of(const LayerNode& node, const Pass& pass) {
  Array sum = pass.of(node.inputs()[0]);
  const Array& branch = pass.of(node.inputs()[1]);
  const Array added = node.norm ? model::reference::apply(*node.norm, branch) : branch;
  for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += static_cast<double>(node.factor) * added.values[i];
  return sum;
}

Array softmax_of(const Array& scores) {
  Array made = scores;
  const auto width = static_cast<std::ptrdiff_t>(scores.shape.back());
  for (auto row = made.values.begin(); row != made.values.end(); row += width) {
    const double most = *std::max_element(row, row + width);
    std::transform(row, row + width, row, [&](double score) { return std::exp(score - most); });
    const double sum = std::accumulate(row, row + width, 0.0);
    std::transform(row, row + width, row, [&](double weight) { return weight / sum; });
  }
  return made;
}

/// The stage as its operation makes it; empty where that is no short formula: what turns queries and keys, caps and biases
/// of scores, distances and experts.
Array made_of(const LayerNode& node, const Pass& pass) {
  const model::AttentionConfig& config = pass.layer.config;
  const auto input = [&](std::size_t i) -> const Array& { return pass.of(node.inputs()[i]); };
  const std::size_t group = config.heads / config.kv_head_count();
  switch (node.operation) {
    case LayerOperation::Same:
      return input(0);
    case LayerOperation::Norm:
      return model::reference::apply(*node.norm, input(0));
    case LayerOperation::Linear: {
      const bool is_turned = config.rotary && node.stage != Stage::V;
      if (node.stage <= Stage::V && (node.norm || is_turned || config.clip > 0.0F)) return {};
      return model::reference::apply(*node.linear, node.reads_memory ? pass.memory : input(0));
    }
    case LayerOperation::Dot:
      return cells_like(pass.of(node.stage), [&](std::size_t b, std::size_t h, std::size_t r, std::size_t c) {
        double sum = 0.0;
        for (std::size_t i = 0; i < config.d_k; ++i) sum += at(input(0), b, h, r, i) * at(input(1), b, h / group, c, i);
        return sum;
      });
    case LayerOperation::Scale: {
      if (config.softcap > 0.0F || config.position_bias) return {};
      Array sum = input(0);
      for (std::size_t term = 1; term < node.inputs().size(); ++term)
        std::ranges::transform(sum.values, input(term).values, sum.values.begin(), std::plus<>());
      for (double& score : sum.values) score *= static_cast<double>(config.scale.factor(config.d_k));
      return sum;
    }
    case LayerOperation::Softmax:
      return softmax_of(input(0));
    case LayerOperation::Mix:
      return cells_like(pass.of(node.stage), [&](std::size_t b, std::size_t h, std::size_t r, std::size_t c) {
        double sum = 0.0;
        for (std::size_t j = 0; j < input(0).shape[3]; ++j)
          sum += at(input(0), b, h, r, j) * at(input(1), b, h / group, j, c);
        return sum;
      });
    case LayerOperation::Merge:
      return model::reference::merge_heads(input(0), config.merge);
    case LayerOperation::Add:
      return sum_of(node, pass);
    case LayerOperation::Activate: {
      Array made = input(0);
      for (double& value : made.values) value = model::reference::activated(pass.layer.feed_forward->activation, value);
      if (node.inputs().size() == 1) return made;
      std::ranges::transform(made.values, input(1).values, made.values.begin(), std::multiplies<>());
      return made;
    }
    case LayerOperation::Given:
    case LayerOperation::Mask:
    case LayerOperation::Distance:
    case LayerOperation::Route:
    case LayerOperation::Experts:
      return {};
  }
  return {};
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("the stages of every golden model's layers are the tensors of a pass, and follow from each other") {
    std::size_t blocks = 0, remade = 0;
    double largest = 0.0;
    for (const std::string& name : test::golden_models()) {
      CAPTURE(name);
      const model::LoadedNetwork loaded = model::load_network(test::golden_model_path(name));
      const model::Network& network = loaded.network;
      const std::vector<test::GoldenCase> cases = test::load_golden_cases(name);
      const model::ModelInput& input = cases.front().input;
      const model::reference::Run run =
          model::reference::run(network, input, test::trained_mask(loaded.description, cases.front()), -1e9);
      for (std::size_t i = 0; i < run.blocks.size(); ++i) {
        ++blocks;
        const model::BlockRef block = run.blocks[i];
        CAPTURE(to_string(block.kind));
        const model::AttentionLayer& layer = network.layer(block);
        const inference::BlockShape shape = inference::shape_of(layer, block.kind, input);
        const LayerGraph graph(shape, block.kind, &layer);
        const Pass pass{.layer = layer, .stages = run.stages[i], .memory = run.encoder_output};
        for (const Stage stage : test::kAllStages) {
          CAPTURE(to_string(stage));
          const Array& array = pass.of(stage);
          const LayerNode* node = graph.find(stage);
          REQUIRE((node != nullptr) == !array.values.empty());
          if (node == nullptr) continue;
          CHECK(array.shape.at(array.shape.size() - 2) == node->extent.rows);
          CHECK(array.shape.back() == node->extent.columns);
          for (const Stage from : node->inputs()) CHECK(from < stage);
          Array made = made_of(*node, pass);
          if (made.values.empty()) continue;
          ++remade;
          const bool is_split = array.shape.size() == 4 && made.shape.size() == 3;
          const Array flat = is_split ? model::reference::merge_heads(array, model::MergeOrder::Concatenate) : array;
          REQUIRE(made.values.size() == flat.values.size());
          double off = 0.0;
          for (std::size_t k = 0; k < flat.values.size(); ++k) test::widen(off, made.values[k], flat.values[k]);
          test::raise_to(largest, off);
          CHECK(off < 1e-12);  // seen: 0, the same doubles in the same order
        }
      }
    }
    CAPTURE(largest);
    CHECK(blocks > 200);
    CHECK(remade > 3'000);
  }

  TEST_CASE("every input of a stage is a stage of the block, also without a residual stream") {
    test::Random random(73);
    std::size_t without_stream = 0;
    for (int i = 0; i < 80; ++i) {
      const test::NetworkCase one = test::random_network(random);
      for (const model::BlockRef block : one.network->blocks()) {
        const model::AttentionLayer& layer = one.network->layer(block);
        const LayerGraph graph(block.kind, layer);
        if (layer.has_feed_forward() && graph.find(Stage::Residual) == nullptr) ++without_stream;
        for (const LayerNode& node : graph.nodes()) {
          CAPTURE(to_string(node.stage));
          for (const Stage from : node.inputs()) CHECK(graph.find(from) != nullptr);
        }
      }
    }
    CHECK(without_stream > 5);
  }

  TEST_CASE("a graph without its layer has the same nodes, and of a capture those that it has") {
    const model::LoadedNetwork loaded = model::load_network(test::golden_model_path("gpt2"));
    const model::AttentionLayer& layer = loaded.network.layer({});
    const attention::BlockShape shape = attention::shape_of(layer, 1, 4, 4);
    const LayerGraph known({}, layer), bare(shape, {});
    REQUIRE(known.nodes().size() == bare.nodes().size());
    for (std::size_t i = 0; i < known.nodes().size(); ++i) {
      CHECK(known.nodes()[i].operation == bare.nodes()[i].operation);
      CHECK(std::ranges::equal(known.nodes()[i].inputs(), bare.nodes()[i].inputs()));
      CHECK(bare.nodes()[i].linear == nullptr);
    }
    const LayerGraph weights({.heads = 2, .queries = 3, .keys = 5, .has_values = false, .only_weights = true}, {});
    REQUIRE(weights.nodes().size() == 1);
    CHECK(weights.nodes()[0].stage == Stage::Weights);
    CHECK(weights.nodes()[0].operation == LayerOperation::Given);
    CHECK(weights.nodes()[0].extent.columns == 5);
  }
}

}  // namespace layer_graph_test
