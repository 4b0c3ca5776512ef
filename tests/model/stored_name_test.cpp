// The tensor of a file that a weight is, and the part of it.
#include "model/stored_tensor.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "model/load_network.h"
#include "support/golden_model.h"

namespace stored_name_test {

using namespace headlight;
using namespace headlight::model;

namespace {

std::vector<std::uint32_t> from(std::uint32_t first, std::uint32_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

}  // namespace

TEST_SUITE("cpu") {
  TEST_CASE("GPT-2's queries, keys and values are columns of one tensor, its square output is transposed") {
    const LoadedNetwork loaded = load_network(test::golden_model_path("gpt2"));
    const AttentionWeights& weights = *loaded.network.layers->encoder.at(1).weights;
    const StoredRows keys = stored_rows(weights.key.weight, 6, 6);
    CHECK(keys.name.tensor == "transformer.h.1.attn.c_attn.weight");
    CHECK(keys.name.file.filename() == "model.safetensors");
    CHECK(keys.shape == Shape{36, 108});
    CHECK(keys.type == "F32");
    CHECK(keys.is_transposed);
    CHECK(keys.rows == from(36 + 6, 6));
    const StoredRows output = stored_rows(weights.output->weight, 3, 2);
    CHECK(output.name.tensor == "transformer.h.1.attn.c_proj.weight");
    CHECK(output.is_transposed);
    CHECK(output.rows == from(3, 2));
    const StoredRows bias = stored_rows(weights.value.bias, 0, 4);
    CHECK(bias.name.tensor == "transformer.h.1.attn.c_attn.bias");
    CHECK_FALSE(bias.is_transposed);
    CHECK(bias.rows == from(72, 4));
  }

  TEST_CASE("other families store their weights as they are used, or head by head in one tensor") {
    const LoadedNetwork llama = load_network(test::golden_model_path("llama"));
    const StoredRows query = stored_rows(llama.network.layers->encoder.at(0).weights->query.weight, 2, 3);
    CHECK(query.name.tensor == "model.layers.0.self_attn.q_proj.weight");
    CHECK_FALSE(query.is_transposed);
    CHECK(query.rows == from(2, 3));
    const LoadedNetwork neox = load_network(test::golden_model_path("gpt_neox"));
    const AttentionLayer& layer = neox.network.layers->encoder.at(0);
    const std::uint32_t d_k = layer.config.d_k;
    const StoredRows second = stored_rows(layer.weights->key.weight, d_k, d_k);
    CHECK(second.name.tensor == "gpt_neox.layers.0.attention.query_key_value.weight");
    CHECK(second.rows == from(4 * d_k, d_k));  // [head][q | k | v][d_k]
  }

  TEST_CASE("a weight that is in no file has no name, and rows that it doesn't have are none") {
    const Parameter made(Tensor{{2, 3}, std::vector<float>(6, 1.0F)});
    CHECK(stored_rows(made, 0, 2).name.tensor == "");
    CHECK(stored_rows(made, 0, 2).rows.empty());
    CHECK(stored_rows(Parameter(), 0, 1).rows.empty());
    const LoadedNetwork gpt2 = load_network(test::golden_model_path("gpt2"));
    CHECK(stored_rows(gpt2.network.layers->encoder.at(0).weights->key.weight, 1'000'000, 1).rows.empty());
  }
}

}  // namespace stored_name_test
