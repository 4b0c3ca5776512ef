#include "model/network.h"

#include <doctest/doctest.h>

#include "core/error.h"

namespace network_test {

using namespace headlight;
using namespace headlight::model;

namespace {

Linear zero_linear(std::uint32_t out, std::uint32_t in) {
  return {.weight = Tensor(Shape{out, in}), .bias = Tensor(Shape{out})};
}

/// Two heads of width 2 on d_model 4, with output projection, LayerNorm and feed-forward.
AttentionLayer full_layer() {
  const auto square = [] { return zero_linear(4, 4); };
  const auto norm = [] { return Norm{.weight = Tensor(Shape{4}), .bias = Tensor(Shape{4})}; };
  return {.config = {.d_model = 4, .heads = 2, .d_k = 2, .d_v = 2},
          .weights = AttentionWeights{.query = square(), .key = square(), .value = square(), .output = square()},
          .norms = {.after = norm()},
          .feed_forward = FeedForward{.in = zero_linear(8, 4), .out = zero_linear(4, 8)},
          .feed_forward_norms = {.after = norm()}};
}

TokenBatch two_lines() {
  return {.batch = 2, .length = 3, .lengths = {3, 1}, .ids = {0, 1, 2, 2, kPaddingId, kPaddingId}, .texts = {}};
}

/// An encoder–decoder and a matching input; each test makes one part invalid.
struct Fixture {
  Layers layers;
  Embedding embedding;
  ModelInput input;

  Fixture() {
    layers.encoder = {full_layer(), full_layer()};
    layers.decoder = {{.self = full_layer(), .cross = full_layer()}, {.self = std::nullopt, .cross = full_layer()}};
    layers.unembedding = {.linear = zero_linear(5, 4)};
    embedding = {.table = Tensor(Shape{3, 4}), .positions = Tensor(Shape{6, 4})};
    input = {.source = two_lines(), .target = two_lines()};
  }

  Network network() const {
    const auto shared = std::make_shared<Embedding>(embedding);
    return {.source_embedding = shared, .target_embedding = shared, .layers = std::make_shared<Layers>(layers)};
  }

  std::string error() const {
    try {
      check(network(), input);
    } catch (const Error& thrown) {
      return thrown.what();
    }
    return "";
  }
};

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("blocks come in the order of computation and are found again") {
    const Fixture fixture;
    const Network network = fixture.network();
    const std::vector<BlockRef> expected = {{BlockKind::EncoderSelf, LayerIndex{0}},
                                            {BlockKind::EncoderSelf, LayerIndex{1}},
                                            {BlockKind::DecoderSelf, LayerIndex{0}},
                                            {BlockKind::Cross, LayerIndex{0}},
                                            {BlockKind::Cross, LayerIndex{1}}};
    CHECK(network.blocks() == expected);
    CHECK(&network.layer(expected[3]) == &network.layers->decoder[0].cross);
    CHECK(&network.layer(expected[2]) == &*network.layers->decoder[0].self);
    CHECK_THROWS_WITH_AS(network.layer({BlockKind::DecoderSelf, LayerIndex{1}}),
                         "the network has no decoder attention in layer 1: choose one of its own blocks", Error);
    CHECK(Network{}.blocks().empty());
  }

  TEST_CASE("layers of a hybrid are named by the model's numbers, of an encoder-decoder those of its decoder") {
    const Fixture fixture;
    Network network = fixture.network();
    network.layer_numbers = {3, 7};
    const std::vector<BlockRef> expected = {{BlockKind::EncoderSelf, LayerIndex{0}},
                                            {BlockKind::EncoderSelf, LayerIndex{1}},
                                            {BlockKind::DecoderSelf, LayerIndex{3}},
                                            {BlockKind::Cross, LayerIndex{3}},
                                            {BlockKind::Cross, LayerIndex{7}}};
    CHECK(network.blocks() == expected);
    CHECK(&network.layer(expected[1]) == &network.layers->encoder[1]);
    CHECK(&network.layer(expected[4]) == &network.layers->decoder[1].cross);
    CHECK_THROWS_WITH_AS(network.layer({BlockKind::Cross, LayerIndex{1}}),
                         "the network has no cross attention in layer 1: choose one of its own blocks", Error);
    auto alone = std::make_shared<Layers>(*network.layers);
    alone->decoder.clear();
    network.layers = alone;
    CHECK(network.blocks() ==
          std::vector<BlockRef>{{BlockKind::EncoderSelf, LayerIndex{3}}, {BlockKind::EncoderSelf, LayerIndex{7}}});
    CHECK(&network.layer({BlockKind::EncoderSelf, LayerIndex{7}}) == &network.layers->encoder[1]);
  }

  TEST_CASE("parameters are counted once") {
    const Fixture fixture;
    const std::size_t attention = 4 * (4 * 4 + 4), norm = 8, feed_forward = 8 * 4 + 8 + 4 * 8 + 4;
    const std::size_t embedding = 3 * 4 + 6 * 4, unembedding = 5 * 4 + 5;
    CHECK(fixture.network().parameter_count() == 5 * (attention + 2 * norm + feed_forward) + embedding + unembedding);
    Fixture shared;
    shared.layers.encoder[1] = shared.layers.encoder[0];  // ALBERT's layers
    CHECK(shared.network().parameter_count() == 4 * (attention + 2 * norm + feed_forward) + embedding + unembedding);
  }

  TEST_CASE("each side of a block has its own tokens") {
    Fixture fixture;
    fixture.input.target->length = 9;
    CHECK(fixture.input.queries(BlockKind::EncoderSelf).length == 3);
    CHECK(fixture.input.keys(BlockKind::EncoderSelf).length == 3);
    CHECK(fixture.input.queries(BlockKind::DecoderSelf).length == 9);
    CHECK(fixture.input.keys(BlockKind::DecoderSelf).length == 9);
    CHECK(fixture.input.queries(BlockKind::Cross).length == 9);
    CHECK(fixture.input.keys(BlockKind::Cross).length == 3);
    fixture.input.target.reset();
    CHECK_THROWS_AS(fixture.input.queries(BlockKind::Cross), Error);
  }

  TEST_CASE("what fits together passes the check") { CHECK(Fixture().error() == ""); }

  TEST_CASE("mismatches are refused in one line that says where") {
    Fixture broken;
    const auto reset = [&] { broken = Fixture(); };

    broken.layers.encoder[1].weights->key.weight = Tensor(Shape{4, 3});
    CHECK(broken.error() ==
          "the key projection weight has shape [4, 3] but must be [4, 4]: check d_model, heads, d_k and d_v "
          "against the weights");
    reset();
    broken.layers.encoder[1].config.heads = 129;
    CHECK(broken.error() == "encoder layer 1: heads is 129, but must be 1 … 128");
    reset();
    broken.layers.decoder[0].cross.config.d_model = 5;
    CHECK(broken.error() == "cross layer 0: d_model is 5, but its query input is 4 wide: make them equal");
    reset();
    broken.layers.encoder[0].weights->output = zero_linear(3, 4);
    CHECK(
        broken.error() ==
        "encoder layer 0: a residual adds 3 numbers to 4: set heads·d_v to d_model or give the layer an output projection");
    reset();
    broken.layers.encoder[0].norms.after->bias = Tensor(Shape{3});
    CHECK(broken.error() == "encoder layer 0: a LayerNorm bias has shape [3], but must be [4]");
    reset();
    broken.layers.encoder[0].feed_forward_norms.after.reset();
    CHECK(broken.error() == "encoder layer 0: a feed-forward and its norms come together: give both or neither");
    reset();
    broken.layers.encoder[0].feed_forward->out = zero_linear(4, 7);
    CHECK(broken.error() == "encoder layer 0: the outer feed-forward weight has shape [4, 7], but must be [out, 8]");
    reset();
    broken.layers.unembedding = {.linear = zero_linear(5, 3)};
    CHECK(broken.error() == "the unembedding: the vocabulary weight has shape [5, 3], but must be [out, 4]");
    reset();
    broken.layers.encoder[0].weights.reset();
    broken.layers.encoder[0].norms.after.reset();
    CHECK(broken.error() == "encoder layer 0 has no weights and the input gives no Q, K and V: give either");
    reset();
    broken.layers = {};
    CHECK(broken.error() == "the network has no attention layer: give it at least one");
    reset();
    broken.embedding.positions = Tensor(Shape{2, 4});
    CHECK(broken.error() ==
          "source tokens: the positions are [2, 4], but 3 tokens of width 4 need at least [3, 4]: shorten the text");
    reset();
    broken.input.source.ids[1] = 3;
    CHECK(broken.error() == "source tokens: id 3 is not among the embedding's 3 rows");
    reset();
    broken.input.source.ids.pop_back();
    CHECK(broken.error() == "source tokens: 5 ids for 2 sequences of 3 tokens: give one for each");
    reset();
    broken.input.source.lengths[1] = 4;
    CHECK(broken.error() == "source tokens: a length of 4 exceeds the padded length 3");
    reset();
    broken.input.source.lengths = {3};
    CHECK(broken.error() == "source tokens: 1 lengths for 2 sequences: give one for each");
    reset();
    broken.input.source.texts = {{"a"}, {"b"}};
    CHECK(broken.error() == "source tokens: the labels don't fill [2, 3]: give one for each token or none");
    reset();
    broken.input.target.reset();
    CHECK(broken.error() == "the network has a decoder but the input no target tokens: give it a second text");
    reset();
    broken.input.target->batch = 1;
    CHECK(broken.error() == "1 target sequences attend to 2 source sequences: give both the same number");
    reset();
    broken.input.target->length = 0;
    CHECK(broken.error() == "target tokens: a batch of 2 sequences of 0 tokens is empty: give at least one token");
    reset();
    broken.input.qkv = GivenQkv{};
    CHECK(broken.error() ==
          "Q, K and V are given, but the network projects its own: leave them out or use a single layer without weights");
  }

  TEST_CASE("given Q, K and V must have the attention's shape") {
    ModelInput input{.source = {.batch = 1, .length = 3, .lengths = {3}, .ids = {}, .texts = {}}};
    input.qkv =
        GivenQkv{.query = Tensor(Shape{1, 2, 3, 4}), .key = Tensor(Shape{1, 2, 3, 4}), .value = Tensor(Shape{1, 2, 3, 5})};
    Layers layers;
    layers.encoder = {{.config = {.d_model = 8, .heads = 2, .d_k = 4, .d_v = 5}}};
    const Network network{.layers = std::make_shared<Layers>(layers)};
    CHECK_NOTHROW(check(network, input));
    input.qkv->key = Tensor(Shape{1, 2, 4, 4});
    CHECK_THROWS_WITH_AS(check(network, input), "given Q, K and V: K has shape [1, 2, 4, 4], but must be [1, 2, 3, 4]",
                         Error);
  }
}

}  // namespace network_test
