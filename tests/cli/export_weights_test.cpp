// Weights of a network, exported by the real program.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/exported.h"
#include "model/checkpoint.h"
#include "support/deviation.h"
#include "support/golden_model.h"

namespace export_weights_test {

using namespace headlight;
namespace fs = std::filesystem;
using test::Exported;

TEST_SUITE("gpu") {
  TEST_CASE("exported weights are the tensors of the model's file, [output, input], with the queries' rows first") {
    struct Tensors {
      const char* model;
      std::vector<std::pair<std::string, std::string>> of_layer;  // "{}" is the layer
    };
    const std::vector<Tensors> models = {
        {"llama",
         {{"w_q", "model.layers.{}.self_attn.q_proj.weight"},
          {"w_k", "model.layers.{}.self_attn.k_proj.weight"},
          {"w_v", "model.layers.{}.self_attn.v_proj.weight"},
          {"w_o", "model.layers.{}.self_attn.o_proj.weight"},
          {"ffn_in_weight", "model.layers.{}.mlp.up_proj.weight"},
          {"ffn_gate_weight", "model.layers.{}.mlp.gate_proj.weight"},
          {"ffn_out_weight", "model.layers.{}.mlp.down_proj.weight"},
          {"norm_before_attention", "model.layers.{}.input_layernorm.weight"},
          {"norm_before_ffn", "model.layers.{}.post_attention_layernorm.weight"}}},
        {"bert",
         {{"b_q", "bert.encoder.layer.{}.attention.self.query.bias"},
          {"b_k", "bert.encoder.layer.{}.attention.self.key.bias"},
          {"b_v", "bert.encoder.layer.{}.attention.self.value.bias"},
          {"b_o", "bert.encoder.layer.{}.attention.output.dense.bias"},
          {"ffn_in_bias", "bert.encoder.layer.{}.intermediate.dense.bias"},
          {"ffn_out_bias", "bert.encoder.layer.{}.output.dense.bias"},
          {"norm_after_attention", "bert.encoder.layer.{}.attention.output.LayerNorm.weight"},
          {"norm_after_attention_bias", "bert.encoder.layer.{}.attention.output.LayerNorm.bias"},
          {"norm_after_ffn", "bert.encoder.layer.{}.output.LayerNorm.weight"}}}};
    const std::string stages = "w_q,w_k,w_v,w_o,b_q,b_k,b_v,b_o,ffn_*,norm_*,embedding,positions";
    for (const Tensors& one : models) {
      CAPTURE(one.model);
      const fs::path folder = test::golden_model_path(one.model);
      const Exported exported({"--model", folder.string(), "--ids", "5,9,2", "--stages", stages, "--format", "npy,csv"});
      model::Checkpoint checkpoint(folder);
      for (const auto& parameter : one.of_layer) {  // clang 14 captures no structured binding
        const auto& name = parameter.first;
        const auto& tensor_name = parameter.second;
        CAPTURE(name);
        const Tensor written = exported.npy(name);
        std::vector<float> expected;
        for (std::uint32_t layer = 0; layer < written.shape[0]; ++layer) {
          const Tensor tensor = checkpoint.find(fmt::format(fmt::runtime(tensor_name), layer)).tensor();
          CHECK(Shape(written.shape.begin() + 1, written.shape.end()) == tensor.shape);
          std::ranges::copy(tensor.values, std::back_inserter(expected));
        }
        CHECK(written.shape[0] == 2);
        CHECK(written.values == expected);
      }
      // The rows of the text's tokens.
      const char* table =
          one.model == std::string("llama") ? "model.embed_tokens.weight" : "bert.embeddings.word_embeddings.weight";
      const Tensor embedding = checkpoint.find(table).tensor(), rows = exported.npy("embedding");
      const std::uint32_t width = embedding.shape[1];
      REQUIRE(rows.shape == Shape{3, width});
      const auto row = embedding.values.begin() + 9 * static_cast<std::ptrdiff_t>(width);
      CHECK(std::equal(row, row + width, rows.values.begin() + width));
      CHECK(exported.has("layer-01_" + one.of_layer.front().first + ".csv"));
      CHECK(exported.has("layer-00_" + one.of_layer.back().first + ".csv"));
    }
  }

  TEST_CASE("GPT-2's fused projection is exported in three, turned round") {
    const fs::path folder = test::golden_model_path("gpt2");
    const Exported exported(
        {"--model", folder.string(), "--ids", "5,9,2", "--stages", "w_k,b_k", "--layer", "1", "--format", "npy"});
    model::Checkpoint checkpoint(folder);
    const Tensor fused = checkpoint.find("transformer.h.1.attn.c_attn.weight").tensor(), keys = exported.npy("w_k");
    const Tensor biases = checkpoint.find("transformer.h.1.attn.c_attn.bias").tensor();
    REQUIRE(keys.shape == Shape{1, 36, 36});
    for (std::uint32_t output = 0; output < 36; ++output) {
      for (std::uint32_t input = 0; input < 36; ++input)
        CHECK(keys.at({0, output, input}) == fused.at({input, 36 + output}));
      CHECK(exported.npy("b_k").at({0, output}) == biases.at({36 + output}));
    }
  }

  TEST_CASE("the feed-forward of a chosen layer is that of the whole model") {
    const std::string folder = test::golden_model_path("llama").string();
    const auto exported = [&](std::vector<std::string> chosen) {
      std::vector<std::string> arguments = {"--model",  folder, "--ids",    "5,9,2",
                                            "--format", "npy",  "--stages", "ffn_gate,next"};
      arguments.insert(arguments.end(), chosen.begin(), chosen.end());
      return Exported(arguments);
    };
    const Exported first = exported({"--layer", "0"}), all = exported({});
    for (const char* stage : {"ffn_gate", "next"}) {
      const Tensor one = first.npy(stage), whole = all.npy(stage);
      REQUIRE(one.shape.front() == 1);
      REQUIRE(whole.shape.front() > 1);
      CHECK(std::equal(one.values.begin(), one.values.end(), whole.values.begin()));
    }
  }

  TEST_CASE("weights that a network lacks are named, and figures of them as well") {
    const Exported exported({"--preset", "notebook-001", "--stages", "w_o,w_q", "--format", "npy"});
    CHECK(exported.outcome.err == "headlight: note: w_o is left out: this network has none\n");
    CHECK(exported.npy("w_q").shape == Shape{1, 8, 8});
  }
}

}  // namespace export_weights_test
